// kstat2adm: connects the command line and libkstat2.

#include "tools/program/main.hpp"

#include <kstat2.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "tools/kstat2adm/command.hpp"
#include "tools/program/no_providers.hpp"

namespace blkscope::kstat2adm {
namespace {

using program::complain;

// The exit statuses besides failed.
constexpr int done = 0;
constexpr int not_permitted = 2;

int exit_status(kstat2_status_t status, const std::string& what) {
    if (status == KSTAT2_S_OK) return done;
    const std::string why = status == KSTAT2_S_SYS_FAIL ? std::generic_category().message(errno)
                                                        : kstat2_status_string(status);
    complain("kstat2adm: " + what + ": " + why + "\n");
    return status == KSTAT2_S_NO_PERM ? not_permitted : failed;
}

int print(const std::string& text) try {
    program::print(text);
    return done;
} catch (const std::system_error& error) {
    complain(std::string("kstat2adm: ") + error.what() + "\n");
    return failed;
}

int list(kstat2_handle_t handle) {
    kstat2_optional_t* optionals = nullptr;
    uint32_t count = 0;
    const auto status = kstat2_optional_list(handle, &optionals, &count);
    if (status != KSTAT2_S_OK) return exit_status(status, "cannot list");
    const std::string text = list_text({optionals, count});
    kstat2_optional_list_free(&optionals);
    program::complain_of_no_providers("kstat2adm", count == 0);
    return print(text);
}

// Tries all ids. The highest exit status of any of them is the result.
int set_all(kstat2_handle_t handle, const Command& command) {
    int worst = done;
    for (const std::string& id : command.ids) {
        const auto status = kstat2_optional_set_state(handle, id.c_str(), *command.state);
        int result = exit_status(status, id);
        if (result == done && command.verbose) result = print(done_text(id, *command.state));
        worst = std::max(worst, result);
    }
    return worst;
}

int run(const Command& command) {
    kstat2_handle_t handle = nullptr;
    const auto status = kstat2_open(&handle, nullptr);
    if (status != KSTAT2_S_OK) return exit_status(status, "cannot open the kstats");
    const int result = command.state ? set_all(handle, command) : list(handle);
    kstat2_close(&handle);
    return result;
}

}  // namespace
}  // namespace blkscope::kstat2adm

int main(int argc, char** argv) {
    using namespace blkscope;
    const std::vector<std::string> arguments(argv, argv + argc);
    return program::obey(
        {"kstat2adm", kstat2adm::failed, [] { program::complain(kstat2adm::help_text()); }},
        [&] { return kstat2adm::parse_command(arguments); }, kstat2adm::run);
}
