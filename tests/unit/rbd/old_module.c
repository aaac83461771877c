/* A module of another build, for the tests of load_from(). */
#include "rbd/table.h"

const struct blkscope_rbd_table blkscope_rbd = {
    .table_bytes = sizeof(struct blkscope_rbd_table),
    .version = "0.9",
};
