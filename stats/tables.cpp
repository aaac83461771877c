// The tables that <sys/stats.h> declares.
#include <sys/stats.h>

#include <climits>

namespace {

template <class T>
constexpr voistatdata_numeric of32(T value) {
    return stats_ctor_vsd_numeric(static_cast<uint32_t>(value));
}
template <class T>
constexpr voistatdata_numeric of64(T value) {
    return stats_ctor_vsd_numeric(static_cast<uint64_t>(value));
}

}  // namespace

extern "C" {

const char* vs_stype2name[VS_NUM_STYPES] = {"VOISTATE", "SUM", "MAX", "MIN", "HIST", "TDGST"};

const char* vs_stype2desc[VS_NUM_STYPES] = {"VOI related state data (not a real stat)",
                                            "Simple arithmetic accumulator",
                                            "Maximum observed VOI value",
                                            "Minimum observed VOI value",
                                            "Histogram of observed VOI values",
                                            "t-digest of observed VOI values"};

const char* vsd_dtype2name[VSD_NUM_DTYPES] = {
    "VOISTATE", "INT_S32",  "INT_U32",  "INT_S64",      "INT_U64",     "INT_SLONG", "INT_ULONG",
    "Q_S32",    "Q_U32",    "Q_S64",    "Q_U64",        "CRHIST32",    "DRHIST32",  "DVHIST32",
    "CRHIST64", "DRHIST64", "DVHIST64", "TDGSTCLUST32", "TDGSTCLUST64"};

const size_t vsd_dtype2size[VSD_NUM_DTYPES] = {
    sizeof(voistatdata_numeric),     sizeof(voistatdata_int32),    sizeof(voistatdata_int32),
    sizeof(voistatdata_int64),       sizeof(voistatdata_int64),    sizeof(voistatdata_intlong),
    sizeof(voistatdata_intlong),     sizeof(voistatdata_q32),      sizeof(voistatdata_q32),
    sizeof(voistatdata_q64),         sizeof(voistatdata_q64),      sizeof(voistatdata_crhist32),
    sizeof(voistatdata_drhist32),    sizeof(voistatdata_dvhist32), sizeof(voistatdata_crhist64),
    sizeof(voistatdata_drhist64),    sizeof(voistatdata_dvhist64), sizeof(voistatdata_tdgstclust32),
    sizeof(voistatdata_tdgstclust64)};

// FreeBSD's values of Q numbers: magnitudes in units of the last bit, not shifted to their place.
const voistatdata_numeric numeric_limits[2][VSD_DTYPE_Q_U64 + 1] = {
    {of64(0), of32(INT32_MIN), of32(0), of64(INT64_MIN), of64(0), of64(LONG_MIN), of64(0),
     of32(Q_IFMINVAL(s32q_t{})), of32(0), of64(Q_IFMINVAL(s64q_t{})), of64(0)},
    {of64(0), of32(INT32_MAX), of32(UINT32_MAX), of64(INT64_MAX), of64(UINT64_MAX), of64(LONG_MAX),
     of64(ULONG_MAX), of32(Q_IFMAXVAL(s32q_t{})), of32(Q_IFMAXVAL(u32q_t{})),
     of64(Q_IFMAXVAL(s64q_t{})), of64(Q_IFMAXVAL(u64q_t{}))}};
}
