// kstat2adm: wires the command line and libkstat2 together.

#include <kstat2.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "tools/kstat2adm/command.hpp"

namespace blkscope::kstat2adm {

namespace {

// The exit statuses.
constexpr int done = 0;
constexpr int failed = 1;
constexpr int not_permitted = 2;

void complain(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);  // nowhere to tell of a failure
}

int exit_status(kstat2_status_t status, const std::string& what) {
    if (status == KSTAT2_S_OK) return done;
    const std::string why = status == KSTAT2_S_SYS_FAIL ? std::generic_category().message(errno)
                                                        : kstat2_status_string(status);
    complain("kstat2adm: " + what + ": " + why + "\n");
    return status == KSTAT2_S_NO_PERM ? not_permitted : failed;
}

int print(const std::string& text) {
    errno = 0;
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return done;
    complain("kstat2adm: cannot write: " + std::generic_category().message(errno) + "\n");
    return failed;
}

int list(kstat2_handle_t handle) {
    kstat2_optional_t* optionals = nullptr;
    uint32_t count = 0;
    const auto status = kstat2_optional_list(handle, &optionals, &count);
    if (status != KSTAT2_S_OK) return exit_status(status, "cannot list");
    const std::string text = list_text({optionals, count});
    kstat2_optional_list_free(&optionals);
    return print(text);
}

// All are tried; the worst that happened to one is what happened.
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
    using namespace blkscope::kstat2adm;
    const std::vector<std::string> arguments(argv, argv + argc);
    const auto parsed = parse_command(arguments);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) {
        complain(refusal->text);
        return failed;
    }
    if (std::holds_alternative<Help>(parsed)) {
        complain(help_text());
        return done;
    }
    return run(std::get<Command>(parsed));
}
