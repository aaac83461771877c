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
 * The tree has every kstat2 that this user may see, of every provider in the run directory. The run
 * directory is $KSTAT_DIR, else /run/kstat for root, else $XDG_RUNTIME_DIR/kstat. The usual order
 * of calls:
 *
 *     kstat2_open(&handle, matchers);             the tree, without values
 *     kstat2_update(handle);                      what there is now
 *     kstat2_lookup_map(handle, uri, &map);
 *     kstat2_map_get(map, "reads", &nv);          nv->kstat2_integer
 *
 * Values:    the values of one kstat2 are of one moment, snaptime. Two kstat2s are of two moments.
 *            The first use after kstat2_update fetches values, which stay until the next update.
 *            Before the first update there are no values.
 * Units:     crtime and snaptime are nanoseconds of CLOCK_MONOTONIC; else see kstat2_nv_meta.
 * Ownership: maps, nvs and every string that a call returns belong to the handle. A map is valid
 *            until the kstat2_update that finds the kstat2 deleted. An nv is valid until the next
 *            update; user values stay as long as their map. The caller frees a kstat2_mapref_t,
 *            which stays valid until then.
 * Threads:   any thread may call with one handle at any time; calls run one after another. No call
 *            may run while another thread opens, updates or closes the handle, because those calls
 *            free memory. A matcher list, an iterator and a reference belong to one thread.
 * Errors:    every call returns a status, and returns results through pointers. An error leaves the
 *            results unchanged, but kstat2_lookup_map and kstat2_mapref_deref set the map to NULL.
 *            A NULL argument for a result or an object is KSTAT2_S_INVAL_ARG.
 * Time:      a provider that does not answer costs one second, once. Its values are
 *            KSTAT2_S_NOT_FOUND until the provider answers again.
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
    KSTAT2_S_INVAL_STATE = 5, /* not allowed now: from a callback, or nothing to remove */
    KSTAT2_S_INVAL_TYPE = 6,  /* not a value that the user put there */
    KSTAT2_S_NOT_FOUND = 7,   /* no such map or value */
    KSTAT2_S_CONC_MOD = 8,    /* the map changed under its iterator */
    KSTAT2_S_DEL_MAP = 9,     /* the map of the reference was removed */
    KSTAT2_S_SYS_FAIL = 10    /* the system refused; errno says why */
} kstat2_status_t;

/* The origin of a value; for iterators and sizes, a set. */
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
    uint8_t kind;   /* KSTAT2_NVK_: the origin of the value */
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

/* The metadata of a map. A map that is only a level of the tree has NONE, NONE and "". */
typedef struct {
    uint16_t type;  /* KSTAT2_MT_ */
    uint32_t flags; /* KSTAT2_MF_ */
    const char* desc;
} kstat2_map_meta_t;

/* The metadata of a value. The true value is raw * scale; with KSTAT2_NVMF_FRACT, raw / scale. */
typedef struct {
    uint16_t type;  /* KSTAT2_NVMT_ */
    uint16_t flags; /* KSTAT2_NVMF_ */
    uint64_t scale; /* never 0 */
    const char* desc;
} kstat2_nv_meta_t;

/* The kind of a pattern. A pattern is compared with the whole URI, "kstat:/disk/...". */
typedef enum kstat2_match_type {
    KSTAT2_M_STRING = 0, /* equal; "/disk/..." is short for "kstat:/disk/..." */
    KSTAT2_M_GLOB = 1,   /* ?, * (which crosses /) and [...]; the same shorthand */
    KSTAT2_M_RE = 2      /* a Perl compatible regular expression, found anywhere in it */
} kstat2_match_type_t;

/* A short English text, for any number. */
const char* kstat2_status_string(kstat2_status_t status);

/* --- Matchers --------------------------------------------------------------------------------- */

/* Allocates a list, which the caller frees. Handles that were opened with the list stay valid. */
kstat2_status_t kstat2_alloc_matcher_list(kstat2_matcher_list_t* list);
/*
 * Appends a matcher. A list selects every kstat2 that one of its matchers selects. INVAL_ARG: no
 * such type, or the regular expression is wrong.
 */
kstat2_status_t kstat2_add_matcher(kstat2_match_type_t type, const char* pattern,
                                   kstat2_matcher_list_t list);
/* Frees, and sets *list to NULL. */
kstat2_status_t kstat2_free_matcher_list(kstat2_matcher_list_t* list);

/* --- The handle ------------------------------------------------------------------------------- */

/*
 * Opens the tree of the kstat2s that the list selects. NULL or an empty list selects all. The
 * handle keeps a copy of the list. NO_PERM, SYS_FAIL: the run directory cannot be read. A run
 * directory that does not exist counts as empty.
 */
kstat2_status_t kstat2_open(kstat2_handle_t* handle, kstat2_matcher_list_t matchers);
/* Brings the tree up to date: adds and removes maps, and makes the next use fetch new values. */
kstat2_status_t kstat2_update(kstat2_handle_t handle);
/* Frees the handle and everything in it except references, and sets *handle to NULL. */
kstat2_status_t kstat2_close(kstat2_handle_t* handle);

/*
 * Finds the map of a URI, "kstat:/a/b" or "/a/b". "/" is the whole tree. NOT_FOUND, with *map set
 * to
 * NULL: no such map.
 */
kstat2_status_t kstat2_lookup_map(kstat2_handle_t handle, const char* uri, kstat2_map_t* map);

/* --- Maps ------------------------------------------------------------------------------------- */

/* Finds a value by its name. Fetches the values of the map if needed. NOT_FOUND: no such value. */
kstat2_status_t kstat2_map_get(kstat2_map_t map, const char* name, kstat2_nv_t* nv);
/* Returns a set of KSTAT2_MAPF_. */
kstat2_status_t kstat2_map_flags(kstat2_map_t map, uint32_t* flags);
/* Counts the values of these kinds, a set of KSTAT2_NVK_. */
kstat2_status_t kstat2_map_size(kstat2_map_t map, uint32_t kinds, uint32_t* size);
kstat2_status_t kstat2_map_uri(kstat2_map_t map, const char** uri);
/* Finds the map that contains this map. NOT_FOUND: map is the whole tree. */
kstat2_status_t kstat2_map_parent(kstat2_map_t map, kstat2_map_t* parent);
/*
 * Stores all values of the map in an array, in the order of iterators.
 *
 * size:    before the call, the room of the array; after the call, the number of values in the map.
 * entries: the number of values stored.
 * Errors:  NO_SPACE: the array has no room for all values.
 */
kstat2_status_t kstat2_map_to_array(kstat2_map_t map, kstat2_nv_t nv_array[], uint32_t* size,
                                    uint32_t* entries);
kstat2_status_t kstat2_map_meta(kstat2_map_t map, kstat2_map_meta_t* meta);
kstat2_status_t kstat2_nv_meta(kstat2_map_t map, const char* name, kstat2_nv_meta_t* meta);

/* Names of metatypes: "io", "hist", ..., and "cnt", "bytes", ... INVAL_ARG: no such metatype. */
kstat2_status_t kstat2_map_metatype_string(uint16_t type, const char** string);
kstat2_status_t kstat2_nv_metatype_string(uint16_t type, const char** string);

/*
 * User values. A reader adds own values to a map of its handle; no other handle sees them. The map
 * stores copies, until the map is removed. A put replaces a user value of the same name.
 * INVAL_TYPE: the name is in use for a value that is not a user value.
 */
kstat2_status_t kstat2_map_put_integer(kstat2_map_t map, const char* name, uint64_t integer);
kstat2_status_t kstat2_map_put_integers(kstat2_map_t map, const char* name, const uint64_t* array,
                                        uint32_t length);
kstat2_status_t kstat2_map_put_string(kstat2_map_t map, const char* name, const char* string);
kstat2_status_t kstat2_map_put_strings(kstat2_map_t map, const char* name, const char* const* array,
                                       uint32_t length);
kstat2_status_t kstat2_map_remove(kstat2_map_t map, const char* name);

/*
 * One pointer per map for the program. The library stores the pointer and never reads through it.
 * NULL removes the pointer. INVAL_ARG from the get function: no pointer was set.
 */
kstat2_status_t kstat2_map_set_userdata(kstat2_map_t map, void* userdata);
kstat2_status_t kstat2_map_get_userdata(kstat2_map_t map, void** userdata);

/*
 * Callbacks, one of each kind per map; NULL removes a callback. Callbacks run in the thread that
 * updates or closes. A callback must not update or close: INVAL_STATE.
 *
 *   - tree: this update added or removed maps below this one, at any depth.
 *   - data: the map has new values, already fetched. A map that is only a level has no data.
 *   - remove: the library is about to remove the map and all maps below. The program frees its
 *     userdata here.
 */
typedef void (*kstat2_map_cb_t)(kstat2_map_t map, void* arg);
kstat2_status_t kstat2_map_set_tree_cb(kstat2_map_t map, kstat2_map_cb_t callback, void* arg);
kstat2_status_t kstat2_map_set_data_cb(kstat2_map_t map, kstat2_map_cb_t callback, void* arg);
kstat2_status_t kstat2_map_set_remove_cb(kstat2_map_t map, kstat2_map_cb_t callback, void* arg);
/* The other name of the same function in the manual of the original. */
#define kstat2_map_set_destroy_cb kstat2_map_set_remove_cb

/* --- Iterators -------------------------------------------------------------------------------- */

/*
 * Iterates over the values of these kinds, a set of KSTAT2_NVK_. The values of the kstat2 come in
 * the order of their declaration. Nested maps and user values come in the order of their addition.
 *
 * Ownership: the iterator is the caller's until kstat2_mapiter_end.
 * Errors:    CONC_MOD from every other call: values were added or removed since the start, or an
 *            update fetched new values. A removal by kstat2_mapiter_remove does not count.
 */
kstat2_status_t kstat2_mapiter_start(kstat2_map_t map, uint32_t kinds, kstat2_mapiter_t* iter);
kstat2_status_t kstat2_mapiter_hasnext(kstat2_mapiter_t iter, bool* hasnext);
/* Returns the next value. NOT_FOUND: no value is left. */
kstat2_status_t kstat2_mapiter_next(kstat2_mapiter_t iter, kstat2_nv_t* nv);
/* Removes the user value that next returned last. INVAL_STATE: there was none. */
kstat2_status_t kstat2_mapiter_remove(kstat2_mapiter_t iter);
/* Frees, and sets *iter to NULL. */
kstat2_status_t kstat2_mapiter_end(kstat2_mapiter_t* iter);

/* --- References ------------------------------------------------------------------------------- */

/* A safe pointer to a map over updates. A reference stays valid after kstat2_close, too. */
kstat2_status_t kstat2_mapref_alloc(kstat2_map_t map, kstat2_mapref_t* ref);
/* DEL_MAP, with *map NULL: the map was removed. A new map of the same URI needs a new reference. */
kstat2_status_t kstat2_mapref_deref(kstat2_mapref_t ref, kstat2_map_t* map);
/* Frees, and sets *ref to NULL. */
kstat2_status_t kstat2_mapref_free(kstat2_mapref_t* ref);

/* --- Optional kstat2s ------------------------------------------------------------------------- */

typedef enum kstat2_optional_state {
    KSTAT2_OPT_DISABLE = 0,
    KSTAT2_OPT_ENABLE = 1,
    KSTAT2_OPT_DEFAULT = 2 /* as the provider began; only to set */
} kstat2_optional_state_t;

/* A group of kstat2s that cost something: a provider creates them on request. */
typedef struct kstat2_optional {
    const char* id; /* "module:what" */
    const char* desc;
    kstat2_optional_state_t default_state; /* the choice of the provider */
    kstat2_optional_state_t state;         /* now */
    kstat2_optional_state_t pstate;        /* the last request, or the default */
} kstat2_optional_t;

/* Lists the groups of all providers, sorted by id. A group of several providers is listed once. */
kstat2_status_t kstat2_optional_list(kstat2_handle_t handle, kstat2_optional_t** list,
                                     uint32_t* count);
/* Frees, and sets *list to NULL. */
kstat2_status_t kstat2_optional_list_free(kstat2_optional_t** list);
/*
 * Sets the state in every provider that has the group, until that provider ends. NOT_FOUND: no
 * provider has the group. NO_PERM: a provider of another user has the group, and the caller is not
 * root.
 */
kstat2_status_t kstat2_optional_set_state(kstat2_handle_t handle, const char* id,
                                          kstat2_optional_state_t state);

#ifdef __cplusplus
}
#endif

#endif
