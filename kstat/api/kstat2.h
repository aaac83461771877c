/*
 * libkstat2: reading kstat2s, the statistics that are named by a path.
 *
 * Source compatible with <kstat2.h> of Oracle Solaris 11.4; written anew after kstat2(3KSTAT2) and
 * its sisters. The library exports these functions and nothing else.
 *
 * A handle holds this process's copy of a tree of maps. Each segment of a kstat2's URI is one
 * level, and the kstat2's values are in the innermost map:
 *
 *     kstat:/                       kstat:/disk/blkscope/nbd0/0
 *       └─ disk (MAP)                 ├─ reads   (INT)
 *            └─ blkscope (MAP)        ├─ ...
 *                 └─ nbd0 (MAP)       ├─ crtime, snaptime (INT, of every kstat2)
 *                      └─ 0 (MAP)     └─ r_hist  (MAP: a kstat2 below this one)
 *
 * The tree has every kstat2 of every live provider in the run directory ($KSTAT_DIR, else
 * /run/kstat for root, else $XDG_RUNTIME_DIR/kstat) that this user may see. The usual order of
 * calls:
 *
 *     kstat2_open(&handle, matchers);             the tree, without values
 *     kstat2_update(handle);                      what there is now
 *     kstat2_lookup_map(handle, uri, &map);
 *     kstat2_map_get(map, "reads", &nv);          nv->kstat2_integer
 *
 * Values:    those of one kstat2 were taken at one moment, snaptime; between two kstat2s nothing is
 *            promised. They are fetched when they are first asked for after kstat2_update, and stay
 * as they are until the next one. Before the first one there are none. Units:     crtime and
 * snaptime are nanoseconds of CLOCK_MONOTONIC; else as kstat2_nv_meta says. Ownership: maps, nvs
 * and every string that a call hands out are the handle's. A map lives until the kstat2_update that
 * finds it gone, an nv (but for user values) until the next one; a kstat2_mapref_t outlives both,
 * until it is freed. Threads:   any may call with one handle at the same time, and is served one at
 * a time. Not while another opens, updates or closes that handle: what those free must not be in
 * use. A matcher list, an iterator and a reference belong to one thread at a time. Errors:    every
 * call returns a status and hands results out through pointers, which it leaves alone on error;
 * kstat2_lookup_map and kstat2_mapref_deref set the map to NULL instead. NULL where a result or an
 * object belongs is KSTAT2_S_INVAL_ARG. Time:      a provider that does not answer costs one
 * second, once; its values are KSTAT2_S_NOT_FOUND until it answers again.
 */
#ifndef _KSTAT2_H
#define _KSTAT2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/kstat2.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kstat2_status {
    KSTAT2_S_OK = 0,
    KSTAT2_S_NO_PERM = 1,     /* the run directory may not be read; an optional's state not set */
    KSTAT2_S_NO_MEM = 2,      /* no memory left */
    KSTAT2_S_NO_SPACE = 3,    /* the array given is too small */
    KSTAT2_S_INVAL_ARG = 4,   /* NULL, an empty name, a pattern that cannot be understood */
    KSTAT2_S_INVAL_STATE = 5, /* not now: from a callback, or with nothing to remove */
    KSTAT2_S_INVAL_TYPE = 6,  /* not a value that the user put there */
    KSTAT2_S_NOT_FOUND = 7,   /* no such map or value */
    KSTAT2_S_CONC_MOD = 8,    /* the map changed under its iterator */
    KSTAT2_S_DEL_MAP = 9,     /* the map that was referred to is gone */
    KSTAT2_S_SYS_FAIL = 10    /* the system refused; errno says why */
} kstat2_status_t;

/* Whose value it is; for iterators and sizes, a set. */
typedef enum kstat2_nv_kind {
    KSTAT2_NVK_SYS = 1, /* the provider's */
    KSTAT2_NVK_USR = 2, /* put there by this reader */
    KSTAT2_NVK_MAP = 4, /* a nested map */
    KSTAT2_NVK_ALL = 7
} kstat2_nv_kind_t;

typedef struct kstat2_handle* kstat2_handle_t;
typedef struct kstat2_map_node* kstat2_map_t; /* kstat2_map is a macro below */
typedef struct kstat2_mapiter* kstat2_mapiter_t;
typedef struct kstat2_mapref* kstat2_mapref_t;
typedef struct kstat2_matcher_list* kstat2_matcher_list_t;

/* One value of a map, under its name. */
struct kstat2_nv {
    const char* name;
    uint8_t type;   /* KSTAT2_NVVT_: which of data */
    uint8_t kind;   /* KSTAT2_NVK_: whose value it is */
    uint16_t flags; /* KSTAT2_NVF_; with KSTAT2_NVF_INVAL, data says nothing */
    union {
        kstat2_map_t map;
        uint64_t integer;
        struct {
            uint64_t* array;
            uint32_t length;
        } integers;
        char* string; /* never NULL */
        struct {
            char** array;
            uint32_t length;
        } strings;
    } data;
};
typedef const struct kstat2_nv* kstat2_nv_t;

#define kstat2_map data.map
#define kstat2_integer data.integer
#define kstat2_integers data.integers
#define kstat2_string data.string
#define kstat2_strings data.strings

/* What is known of a map; of one that is only a level of the tree: NONE, NONE and "". */
typedef struct {
    uint16_t type;  /* KSTAT2_MT_ */
    uint32_t flags; /* KSTAT2_MF_ */
    const char* desc;
} kstat2_map_meta_t;

/* What is known of a value. It means raw * scale, or raw / scale with KSTAT2_NVMF_FRACT. */
typedef struct {
    uint16_t type;  /* KSTAT2_NVMT_ */
    uint16_t flags; /* KSTAT2_NVMF_ */
    uint64_t scale; /* never 0 */
    const char* desc;
} kstat2_nv_meta_t;

/* What a pattern is compared with is the whole URI, "kstat:/disk/...". */
typedef enum kstat2_match_type {
    KSTAT2_M_STRING = 0, /* equal; "/disk/..." is short for "kstat:/disk/..." */
    KSTAT2_M_GLOB = 1,   /* ?, * (which crosses /) and [...]; the same shorthand */
    KSTAT2_M_RE = 2      /* a Perl compatible regular expression, found anywhere in it */
} kstat2_match_type_t;

/* A short English text, for any number. */
const char* kstat2_status_string(kstat2_status_t status);

/* --- Matchers --------------------------------------------------------------------------------- */

/* A list that the caller frees; it may be freed while handles opened with it live on. */
kstat2_status_t kstat2_alloc_matcher_list(kstat2_matcher_list_t* list);
/* Appends. What any matcher of the list selects is selected. INVAL_ARG: no such type, or the
 * regular expression is none. */
kstat2_status_t kstat2_add_matcher(kstat2_match_type_t type, const char* pattern,
                                   kstat2_matcher_list_t list);
/* Frees, and sets *list to NULL. */
kstat2_status_t kstat2_free_matcher_list(kstat2_matcher_list_t* list);

/* --- The handle ------------------------------------------------------------------------------- */

/* The tree of the kstat2s that the list selects; NULL or an empty one: of all. The handle keeps a
 * copy of the list as it is now. NO_PERM, SYS_FAIL: the run directory cannot be read (one that is
 * not there is an empty one). */
kstat2_status_t kstat2_open(kstat2_handle_t* handle, kstat2_matcher_list_t matchers);
/* Makes the tree what it is now: maps come and go, values become new ones. */
kstat2_status_t kstat2_update(kstat2_handle_t handle);
/* Frees the handle and all that is its own but the references, and sets *handle to NULL. */
kstat2_status_t kstat2_close(kstat2_handle_t* handle);

/* The map of that URI, "kstat:/a/b" or "/a/b"; "/" is the whole tree. NOT_FOUND, with *map NULL. */
kstat2_status_t kstat2_lookup_map(kstat2_handle_t handle, const char* uri, kstat2_map_t* map);

/* --- Maps ------------------------------------------------------------------------------------- */

kstat2_status_t kstat2_map_get(kstat2_map_t map, const char* name, kstat2_nv_t* nv);
/* KSTAT2_MAPF_. */
kstat2_status_t kstat2_map_flags(kstat2_map_t map, uint32_t* flags);
/* How many values of these kinds (KSTAT2_NVK_) it has. */
kstat2_status_t kstat2_map_size(kstat2_map_t map, uint32_t kinds, uint32_t* size);
kstat2_status_t kstat2_map_uri(kstat2_map_t map, const char** uri);
/* NOT_FOUND: map is the whole tree. */
kstat2_status_t kstat2_map_parent(kstat2_map_t map, kstat2_map_t* parent);
/* All its values, in the order of its iterators. *size: how many the array has room for, and then
 * how many the map has; *entries: how many were stored. NO_SPACE: not enough room for all. */
kstat2_status_t kstat2_map_to_array(kstat2_map_t map, kstat2_nv_t nv_array[], uint32_t* size,
                                    uint32_t* entries);
kstat2_status_t kstat2_map_meta(kstat2_map_t map, kstat2_map_meta_t* meta);
kstat2_status_t kstat2_nv_meta(kstat2_map_t map, const char* name, kstat2_nv_meta_t* meta);

/* "io", "hist", ... and "cnt", "bytes", ... INVAL_ARG: no such metatype. */
kstat2_status_t kstat2_map_metatype_string(uint16_t type, const char** string);
kstat2_status_t kstat2_nv_metatype_string(uint16_t type, const char** string);

/* User values live in this handle's map only, until the map goes, and are copies of what is given.
 * Put replaces a user value of that name. INVAL_TYPE: the name is not a user value's. */
kstat2_status_t kstat2_map_put_integer(kstat2_map_t map, const char* name, uint64_t integer);
kstat2_status_t kstat2_map_put_integers(kstat2_map_t map, const char* name, const uint64_t* array,
                                        uint32_t length);
kstat2_status_t kstat2_map_put_string(kstat2_map_t map, const char* name, const char* string);
kstat2_status_t kstat2_map_put_strings(kstat2_map_t map, const char* name, const char* const* array,
                                       uint32_t length);
kstat2_status_t kstat2_map_remove(kstat2_map_t map, const char* name);

/* One pointer per map that the library keeps and does not look at; NULL unsets it. Getting one
 * that was not set is INVAL_ARG. */
kstat2_status_t kstat2_map_set_userdata(kstat2_map_t map, void* userdata);
kstat2_status_t kstat2_map_get_userdata(kstat2_map_t map, void** userdata);

/*
 * Callbacks, one of each kind per map; NULL unsets it. They run in the thread that updates or
 * closes, which they must not do themselves (INVAL_STATE).
 *
 * tree:   maps below this one, at any depth, came or went in this update.
 * data:   the map has new values, already fetched. The map that is only a level has none.
 * remove: the map is about to go, with all below it; the last moment for its userdata.
 */
typedef void (*kstat2_map_cb_t)(kstat2_map_t map, void* arg);
kstat2_status_t kstat2_map_set_tree_cb(kstat2_map_t map, kstat2_map_cb_t callback, void* arg);
kstat2_status_t kstat2_map_set_data_cb(kstat2_map_t map, kstat2_map_cb_t callback, void* arg);
kstat2_status_t kstat2_map_set_remove_cb(kstat2_map_t map, kstat2_map_cb_t callback, void* arg);
/* The other name that the original's manual has for it. */
#define kstat2_map_set_destroy_cb kstat2_map_set_remove_cb

/* --- Iterators -------------------------------------------------------------------------------- */

/*
 * Over the values of these kinds: the kstat2's in the order of their declaration, nested maps and
 * user values as they came. The iterator is the caller's until kstat2_mapiter_end. CONC_MOD from
 * any other call: since it started, values came or went (but by kstat2_mapiter_remove), or an
 * update gave the map new ones.
 */
kstat2_status_t kstat2_mapiter_start(kstat2_map_t map, uint32_t kinds, kstat2_mapiter_t* iter);
kstat2_status_t kstat2_mapiter_hasnext(kstat2_mapiter_t iter, bool* hasnext);
/* NOT_FOUND: that was the last. */
kstat2_status_t kstat2_mapiter_next(kstat2_mapiter_t iter, kstat2_nv_t* nv);
/* Removes the user value that next returned last. INVAL_STATE: there was none. */
kstat2_status_t kstat2_mapiter_remove(kstat2_mapiter_t iter);
/* Frees, and sets *iter to NULL. */
kstat2_status_t kstat2_mapiter_end(kstat2_mapiter_t* iter);

/* --- References ------------------------------------------------------------------------------- */

/* The way to keep a map over updates. Also outlives the handle. */
kstat2_status_t kstat2_mapref_alloc(kstat2_map_t map, kstat2_mapref_t* ref);
/* DEL_MAP, with *map NULL: the map is gone. One that came back under the same URI is another. */
kstat2_status_t kstat2_mapref_deref(kstat2_mapref_t ref, kstat2_map_t* map);
/* Frees, and sets *ref to NULL. */
kstat2_status_t kstat2_mapref_free(kstat2_mapref_t* ref);

/* --- Optional kstat2s ------------------------------------------------------------------------- */

typedef enum kstat2_optional_state {
    KSTAT2_OPT_DISABLE = 0,
    KSTAT2_OPT_ENABLE = 1,
    KSTAT2_OPT_DEFAULT = 2 /* as the provider began; only to set */
} kstat2_optional_state_t;

/* A group of kstat2s that a provider makes when asked to, and that cost something. */
typedef struct kstat2_optional {
    const char* id; /* "module:what" */
    const char* desc;
    kstat2_optional_state_t default_state; /* the provider's own */
    kstat2_optional_state_t state;         /* now */
    kstat2_optional_state_t pstate;        /* what was asked for last, or the default */
} kstat2_optional_t;

/* Those of all providers, sorted by id; one of several providers is listed once. */
kstat2_status_t kstat2_optional_list(kstat2_handle_t handle, kstat2_optional_t** list,
                                     uint32_t* count);
/* Frees, and sets *list to NULL. */
kstat2_status_t kstat2_optional_list_free(kstat2_optional_t** list);
/* In every provider that has it, for as long as that lives. NOT_FOUND: none has. NO_PERM: one has,
 * and it is not this user's, nor is this root. */
kstat2_status_t kstat2_optional_set_state(kstat2_handle_t handle, const char* id,
                                          kstat2_optional_state_t state);

#ifdef __cplusplus
}
#endif

#endif
