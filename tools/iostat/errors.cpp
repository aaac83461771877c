#include "tools/iostat/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "tools/program/kstats.hpp"

namespace blkscope::iostat {
namespace {

constexpr size_t full_line = 62;        // a line of this width ends
constexpr size_t last_of_counters = 2;  // the first line also ends behind this record
constexpr size_t number_width = 4;      // the width that any number counts as
constexpr float bytes_per_gb = 1e9F;

ErrorRecord copy(const kstat_named_t& record) {
    ErrorRecord copied{.name = program::field_text(record.name), .value = {}};
    switch (record.data_type) {
        case KSTAT_DATA_CHAR:
            copied.value = program::field_text(record.value.c);
            break;
        case KSTAT_DATA_STRING:
            copied.value =
                KSTAT_NAMED_STR_PTR(&record) != nullptr ? program::string_text(record) : "";
            break;
        case KSTAT_DATA_UINT32:
            copied.value = record.value.ui32;
            break;
        case KSTAT_DATA_UINT64:
            copied.value = record.value.ui64;
            break;
        default:
            break;
    }
    return copied;
}

// The text of a listing. The width of a line counts names and values, but not all characters.
class ListingText {
  public:
    explicit ListingText(const Listing& listing) : listing_(listing) { add_name(); }

    void add(const ErrorRecord& record);
    void end_line_if_full(size_t position);
    [[nodiscard]] std::string take();

  private:
    void put(const std::string& part);
    void end_line();
    void add_name();
    void add_text(const std::string& name, const std::string& value);
    void add_number(const std::string& name, uint32_t value);
    void add_size(uint64_t bytes);

    Listing listing_;
    std::string text_;
    size_t column_ = 0;
    bool line_begun_ = false;
};

void ListingText::put(const std::string& part) {
    if (line_begun_ && listing_.comma_separated) text_ += ',';
    text_ += part;
    line_begun_ = true;
}

// Ends the line, if it has any text.
void ListingText::end_line() {
    if (line_begun_) text_ += '\n';
    line_begun_ = false;
    column_ = 0;
}

void ListingText::add_name() {
    const std::string& name = listing_.name;
    const size_t room = listing_.names_last ? 16 : 9;
    if (name.size() > 20) {
        put(name + " ");
    } else {
        const size_t width = name.size() > 16 ? 20 : room;
        put(fmt::format("{:<{}.{}} ", name, width, width));
    }
}

void ListingText::add(const ErrorRecord& record) {
    column_ += record.name.size();
    if (const auto* string = std::get_if<std::string>(&record.value)) {
        add_text(record.name, *string);
    } else if (const auto* narrow = std::get_if<uint32_t>(&record.value)) {
        add_number(record.name, *narrow);
    } else if (const auto* wide = std::get_if<uint64_t>(&record.value)) {
        if (record.name == "Size") return add_size(*wide);
        add_number(record.name, static_cast<uint32_t>(*wide));
    }
}

void ListingText::add_text(const std::string& name, const std::string& value) {
    if (name != "Serial No" || listing_.device_id == nullptr) {
        put(fmt::format("{}: {} ", name, value));
        column_ += value.size();
        return;
    }
    const std::string& id = *listing_.device_id;
    put(id.empty() ? "Device Id: " : fmt::format("Device Id: {} ", id));
    column_ += id.size();
}

void ListingText::add_number(const std::string& name, uint32_t value) {
    put(fmt::format("{}: {} ", name, value));
    column_ += number_width;
}

// Adds the size on a line of its own.
void ListingText::add_size(uint64_t bytes) {
    const float gigabytes = static_cast<float>(bytes) / bytes_per_gb;
    end_line();
    put(fmt::format("Size: {:.2f}GB <{} bytes>", gigabytes, bytes));
    end_line();
}

void ListingText::end_line_if_full(size_t position) {
    if (column_ >= full_line || position == last_of_counters) end_line();
}

std::string ListingText::take() {
    end_line();
    return std::move(text_);
}

}  // namespace

bool counts_errors(std::string_view kstat_class) {
    return kstat_class.starts_with("device_error") || kstat_class.starts_with("iopath_error");
}

ErrorRecords copy_errors(const kstat_named_t* records, size_t count) {
    ErrorRecords copied;
    for (const kstat_named_t& record : std::span(records, count)) copied.push_back(copy(record));
    return copied;
}

uint32_t error_count(const ErrorRecords& records, std::string_view name) {
    const auto found = std::ranges::find(records, name, &ErrorRecord::name);
    return error_count(records, static_cast<size_t>(found - records.begin()));
}

uint32_t error_count(const ErrorRecords& records, size_t position) {
    if (position >= records.size()) return 0;
    const auto& value = records[position].value;
    if (const auto* narrow = std::get_if<uint32_t>(&value)) return *narrow;
    if (const auto* wide = std::get_if<uint64_t>(&value)) return static_cast<uint32_t>(*wide);
    return 0;
}

std::string error_listing(const ErrorRecords& records, const Listing& listing) {
    ListingText text(listing);
    for (size_t position = 0; position < records.size(); ++position) {
        if (records[position].name.empty()) continue;
        text.add(records[position]);
        text.end_line_if_full(position);
    }
    return text.take();
}

}  // namespace blkscope::iostat
