/* The reader's header as strict C99 sees it, first and alone. */
#include <kstat2.h>

static uint64_t count_of_as(kstat2_nv_t nv) {
    uint64_t sum = 0;
    uint32_t i;
    for (i = 0; i < nv->kstat2_strings.length; i++) sum += nv->kstat2_strings.array[i][0] == 'a';
    return sum;
}

/* Every shorthand, each with the type that it stands for. */
uint64_t c99_sees_the_values(kstat2_nv_t nv) {
    kstat2_map_t map = 0;
    switch (nv->type) {
        case KSTAT2_NVVT_MAP:
            map = nv->kstat2_map;
            return map != 0;
        case KSTAT2_NVVT_INT:
            return nv->kstat2_integer;
        case KSTAT2_NVVT_INTS:
            return nv->kstat2_integers.length == 0 ? 0 : nv->kstat2_integers.array[0];
        case KSTAT2_NVVT_STR:
            return nv->kstat2_string[0] == 'a';
        default:
            return count_of_as(nv);
    }
}
