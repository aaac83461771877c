// Chains of kstats and their texts, for every program that reads kstats.
#pragma once

#include <kstat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace blkscope::program {

struct CloseChain {
    void operator()(kstat_ctl_t* kc) const { kstat_close(kc); }
};

/// An open chain of kstats.
using Chain = std::unique_ptr<kstat_ctl_t, CloseChain>;

/// The result of an update of a chain, or of its opening.
enum class Update {
    complete,
    partial,  // the process has no descriptor for some providers; errno says so
    failed    // errno has the reason
};

/// Brings the chain up to date. Call it also behind kstat_open, which does not tell whether the
/// chain is complete.
[[nodiscard]] inline Update update(kstat_ctl_t* kc) {
    kid_t id = kstat_chain_update(kc);
    if (id > 0) id = kstat_chain_update(kc);  // a change is told before a failure
    if (id != -1) return Update::complete;
    return errno == EMFILE || errno == ENFILE ? Update::partial : Update::failed;
}

/// A string in a field of at most `room` bytes. The provider may have filled the whole field.
inline std::string bounded_text(const char* field, size_t room) {
    return {field, strnlen(field, room)};
}

template <size_t room>
std::string field_text(const char (&field)[room]) {
    return bounded_text(field, room);
}

/// The value of a STRING record; its pointer must not be null.
inline std::string string_text(const kstat_named_t& record) {
    return bounded_text(KSTAT_NAMED_STR_PTR(&record), KSTAT_NAMED_STR_BUFLEN(&record));
}

/// The process id of a kstat's provider, which libkstat has in ks_private. 0: a kstat of this machine.
inline int provider_of(const kstat_t& ksp) {
    return static_cast<int>(reinterpret_cast<intptr_t>(ksp.ks_private));
}

/// Finds a kstat of a provider and reads it. Null with an errno if it cannot be read; ENOENT: it is not
/// there. kstat_lookup finds the first of that name, which may be another provider's.
inline kstat_t* read_kstat(kstat_ctl_t* kc, int provider, const std::string& module, int instance,
                           const std::string& name) {
    for (kstat_t* ksp = kc->kc_chain; ksp != nullptr; ksp = ksp->ks_next) {
        if (ksp->ks_instance != instance || provider_of(*ksp) != provider) continue;
        if (field_text(ksp->ks_name) != name || field_text(ksp->ks_module) != module) continue;
        return kstat_read(kc, ksp, nullptr) == -1 ? nullptr : ksp;
    }
    errno = ENOENT;
    return nullptr;
}

/// The record of this name and type, of a kstat that was read; null if there is none.
inline const kstat_named_t* record_of(kstat_t* ksp, const std::string& name, uchar_t type) {
    const auto* record = static_cast<const kstat_named_t*>(kstat_data_lookup(ksp, name.c_str()));
    return record == nullptr || record->data_type != type ? nullptr : record;
}

/// The value of a UINT64 record, of a kstat that was read.
inline std::optional<uint64_t> number_record(kstat_t* ksp, const std::string& name) {
    const kstat_named_t* record = record_of(ksp, name, KSTAT_DATA_UINT64);
    return record == nullptr ? std::nullopt : std::optional<uint64_t>(record->value.ui64);
}

/// The small letters at the beginning of a CHAR record, of a kstat that was read.
inline std::optional<std::string> word_record(kstat_t* ksp, const std::string& name) {
    const kstat_named_t* record = record_of(ksp, name, KSTAT_DATA_CHAR);
    if (record == nullptr) return {};
    std::string word;
    for (const char c : record->value.c) {
        if (c < 'a' || c > 'z') break;
        word += c;
    }
    return word;
}

/// The value of a STRING record, of a kstat that was read.
inline std::optional<std::string> text_record(kstat_t* ksp, const std::string& name) {
    const kstat_named_t* record = record_of(ksp, name, KSTAT_DATA_STRING);
    if (record == nullptr || KSTAT_NAMED_STR_PTR(record) == nullptr) return {};
    return string_text(*record);
}

}  // namespace blkscope::program
