// ServedDevice: a real `blkscope serve` in a process of its own, for a test to be a client of.
//
// The fixture owns start, wait-until-ready and clean-up. A temporary folder is the server's run
// directory, and has its socket and its images. The server is ended by its process id. When a test
// fails, the server's log is shown.
#pragma once

#include <gtest/gtest.h>
#include <kstat.h>
#include <libnbd.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../eventually.hpp"

namespace blkscope::test {

constexpr uint64_t mib = uint64_t{1} << 20;
constexpr uint64_t gib = uint64_t{1} << 30;

/// The allowed growth of a server that has touched so much more memory. The sanitizers keep bytes
/// of their own for each that the server touches, and keep freed memory for a while.
constexpr uint64_t grown_kib(uint64_t touched_mib) {
    return touched_mib * 1024 * (BLKSCOPE_SANITIZED ? 6 : 1);
}

/// A record of a process's memory in KiB, as "VmRSS:". Fails the test if there is none.
uint64_t memory_kib(pid_t process, const std::string& record);

/// Why a test cannot run here, for GTEST_SKIP(); nothing when `program` is in the PATH.
std::optional<std::string> missing(const std::string& program);

/// A port that was free a moment ago, for a server that takes no other.
uint16_t free_port();

/// For the first line of a test that needs a program of others.
#define NEEDS(program) \
    if (const auto why = blkscope::test::missing(program)) GTEST_SKIP() << *why

/// A program, ours or another one, in a process of its own. Its output goes to a file, standard
/// error to `errors` if that is given. The program starts with every signal at its default.
class Process {
  public:
    Process(std::vector<std::string> arguments, const std::filesystem::path& output,
            const std::filesystem::path& errors = {});
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] std::string output() const;
    void signal(int number) const;
    /// Its exit status, or 128 and the signal; waits for it.
    int wait();
    [[nodiscard]] bool running();

  private:
    std::filesystem::path output_;
    pid_t pid_ = -1;
    int status_ = -1;
};

struct CommandResult {
    int status;
    std::string output;  // standard output and error together
};

/// One connection through libnbd. The calls that may fail return the errno, 0 for success.
class Client {
  public:
    explicit Client(const std::string& uri);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    nbd_handle* get() { return nbd_; }
    int try_read(uint64_t offset, size_t bytes);
    int try_write(uint64_t offset, size_t bytes, char fill = 'x', uint32_t flags = 0);
    std::vector<char> read(uint64_t offset, size_t bytes);

  private:
    nbd_handle* nbd_;
};

class ServedDevice : public testing::Test {
  protected:
    void SetUp() override;
    void TearDown() override;

    /// Starts the server on a Unix socket and waits until it is ready. `backing` as on its command
    /// line.
    void serve(const std::string& backing, const std::vector<std::string>& options = {});
    /// The same with these arguments and no others.
    void serve_with(const std::vector<std::string>& arguments);
    /// A process that becomes a server; ready when it is.
    std::unique_ptr<Process> start_process(const std::vector<std::string>& command,
                                           const std::string& log = "server.log");
    /// Another server beside the first, likewise ready, on a socket of its own. Its log is the file
    /// `socket` with ".log". Its exports are at uri_at(socket).
    std::unique_ptr<Process> serve_beside(const std::string& backing, const std::string& socket,
                                          const std::vector<std::string>& options = {});
    /// Starts the server on a free TCP port of the loopback; gives nbd://127.0.0.1:PORT.
    std::string serve_tcp(const std::string& backing);
    /// A sparse image in the test's folder.
    std::string make_image(const std::string& name, uint64_t bytes);
    /// Ends the server in order and gives its exit status.
    int stop_server();
    /// Writes the configuration lab.json, with the test's socket and these exports.
    void configure(const std::string& exports);
    /// Tells the server to read its configuration again, and waits for this answer in its log.
    void reload(const std::string& answer);

    [[nodiscard]] std::string uri(const std::string& export_name = "") const;
    [[nodiscard]] std::string uri_at(const std::string& socket,
                                     const std::string& export_name = "") const;
    [[nodiscard]] std::string path(const std::string& name) const {
        return (folder_ / name).string();
    }

    /// Runs a program to its end, within a limit, and gives what it said.
    CommandResult run(const std::vector<std::string>& arguments);
    /// Fails the test unless the program ends with 0. Gives what it said.
    std::string succeed(const std::vector<std::string>& arguments);
    /// The same for a command of blkscope.
    std::string blkscope(std::vector<std::string> arguments);
    /// The one line of a command of blkscope that fails with this status.
    std::string refused(std::vector<std::string> arguments, int status);

    /// The device's IO kstat as another process sees it.
    kstat_io_t read_io(const std::string& name = "nbd0");
    /// A record of its `cmds` kstat.
    uint64_t read_command_count(const std::string& record, const std::string& name = "nbd0");

    std::filesystem::path folder_;
    std::unique_ptr<Process> server_;
    std::string socket_;

  private:
    std::unique_ptr<Process> start_server(std::vector<std::string> arguments,
                                          const std::string& log);

    int commands_run_ = 0;
};

}  // namespace blkscope::test
