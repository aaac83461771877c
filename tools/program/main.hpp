// The frame of every main(): parses a command line, runs it, and reports each failure.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "base/descriptor.hpp"
#include "base/descriptor_limit.hpp"
#include "tools/program/left_out.hpp"
#include "tools/program/options.hpp"
#include "tools/program/print.hpp"

namespace blkscope::program {

/// A line about providers that this process had no descriptor for.
[[nodiscard]] std::string shortage_text(std::string_view program);

struct Program {
    std::string_view name;
    int failed;  // exit status
    void (*print_help)();
};

/// Obeys the result of `parse()`: prints the help text, prints why the command line is refused, or
/// calls `run(options)`.
///
/// Returns the exit status. The status is the result of the run, or 0 if the output was closed by
/// its reader. A Refusal contains its own status. Any other failure is printed and gives `failed`.
template <class Parse, class Run>
int obey(const Program& program, Parse parse, Run run) {
    const auto fail = [&](std::string_view why) {
        complain(std::string(program.name).append(": ").append(why).append("\n"));
        return program.failed;
    };
    occupy_standard_descriptors();
    warn_of_silent_providers(program.name);
    raise_descriptor_limit();  // a reader needs a descriptor for each provider
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
