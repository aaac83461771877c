// What every main does with its command line, and with what is thrown meanwhile.
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

/// Prints the help text, tells why the command line that `parse()` gives is refused, or runs
/// `run(options)`. Returns the exit status: what the run returns, 0 if nobody reads the output any
/// more, that of a Refusal, or `failed` after telling what went wrong.
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
