/* Notes of Solaris' sources for its lint(1), without any effect. */
#ifndef _BLKSCOPE_SOLARIS_SYS_NOTE_H
#define _BLKSCOPE_SOLARIS_SYS_NOTE_H

#ifndef _NOTE
#define _NOTE(note)
#endif

#endif
