/* NOTE(...) of Solaris' programs for lint(1), without any effect. */
#ifndef _BLKSCOPE_SOLARIS_NOTE_H
#define _BLKSCOPE_SOLARIS_NOTE_H

#include <sys/note.h>

#define NOTE(note) _NOTE(note)

#endif
