// The frame of every main: a command line is parsed and obeyed, and each failure has its end.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "tools/program/options.hpp"
#include "tools/program/print.hpp"

namespace blkscope::program {

struct Program {
    std::string_view name;
    int failed;  // exit status
    void (*print_help)();
};

/// Obeys the command line that `parse()` gives: prints the help text, tells why it is refused, or
/// calls `run(options)`.
///
/// Returns the exit status: the result of the run, or 0 if the reader of the output has closed it. A
/// Refusal brings its own. After any other failure, which is told, it is `failed`.
template <class Parse, class Run>
int obey(const Program& program, Parse parse, Run run) {
    const auto fail = [&](std::string_view why) {
        complain(std::string(program.name).append(": ").append(why).append("\n"));
        return program.failed;
    };
    try {
        const auto parsed = parse();
        if (const auto* options = std::get_if<0>(&parsed)) return run(*options);
        if (const auto* refusal = std::get_if<Refusal>(&parsed)) throw *refusal;
        program.print_help();
        return 0;
    } catch (const Refusal& refusal) {
        complain(refusal.text);
        return refusal.status;
    } catch (const OutputClosed&) {
        return 0;
    } catch (const std::runtime_error& error) {
        return fail(error.what());
    } catch (const std::bad_alloc&) {
        return fail("out of memory");
    }
}

}  // namespace blkscope::program
