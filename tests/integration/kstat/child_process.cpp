#include "child_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

// Children of a test that has threads start threads themselves.
extern "C" const char* __tsan_default_options() {
    return "die_after_fork=0";
}

namespace blkscope {

namespace {

struct Ends {
    int ours;
    int theirs;
};

Ends make_line() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    return {ends[0], ends[1]};
}

bool others_sleep() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() == std::to_string(gettid())) continue;
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("State:") && !line.starts_with("State:\tS")) return false;
        }
    }
    return true;
}

}  // namespace

void Line::say(char byte) const {
    send(socket_, &byte, 1, MSG_NOSIGNAL);
}

char Line::hear() const {
    pollfd poller{socket_, POLLIN, 0};
    char byte = 0;
    if (poll(&poller, 1, 30'000) != 1 || recv(socket_, &byte, 1, 0) != 1) return 0;
    return byte;
}

void take_turns(const Line& line) {
    line.say('r');
    line.hear();
}

ChildProcess::ChildProcess(const std::function<void(const Line&)>& body) : socket_(-1), line_(-1) {
    const Ends ends = make_line();
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
        close(ends.ours);
        body(Line(ends.theirs));
        std::exit(0);
    }
    close(ends.theirs);
    socket_ = ends.ours;
    line_ = Line(ends.ours);
}

ChildProcess::~ChildProcess() {
    kill();
    close(socket_);
}

void ChildProcess::signal(int number) const {
    ::kill(pid_, number);
}

void ChildProcess::stop() const {
    signal(SIGSTOP);
    int status = 0;
    waitpid(pid_, &status, WUNTRACED);
}

void ChildProcess::kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    wait();
}

int ChildProcess::wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

ReadyChild::ReadyChild(const std::function<void(const Line&)>& body) : ChildProcess(body) {
    if (line().hear() != 'r') throw std::runtime_error("the child is not ready");
}

pid_t fork_while_others_sleep() {
    EXPECT_TRUE(eventually(others_sleep));
    return fork();
}

KstatProcesses::KstatProcesses()
    : directory(std::filesystem::temp_directory_path() / "kstat_integration_XXXXXX") {
    if (mkdtemp(directory.data()) == nullptr) std::abort();
    chmod(directory.c_str(), 0755);
    setenv("KSTAT_DIR", directory.c_str(), 1);
}

KstatProcesses::~KstatProcesses() {
    if (kc != nullptr) kstat_close(kc);
    // A provider that ends just now takes its own socket away while the folder is walked.
    std::error_code walked_into_nothing;
    for (int attempt = 0; attempt < 10 && std::filesystem::exists(directory); ++attempt) {
        std::filesystem::remove_all(directory, walked_into_nothing);
    }
}

void KstatProcesses::open() {
    kc = kstat_open();
    ASSERT_NE(kc, nullptr) << std::strerror(errno);
}

kstat_t* KstatProcesses::lookup(const char* module, const char* name) const {
    return kstat_lookup(kc, module, -1, name);
}

std::string KstatProcesses::socket_of(pid_t pid) {
    return std::to_string(pid) + ".sock";
}

Outcome KstatProcesses::run_shell(const std::string& command) const {
    const std::string errors = directory + "/stderr";
    FILE* const pipe = popen((command + " 2>" + errors).c_str(), "r");
    std::string out;
    std::array<char, 65536> part{};
    size_t length = 0;
    while ((length = std::fread(part.data(), 1, part.size(), pipe)) > 0) {
        out.append(part.data(), length);
    }
    const int status = pclose(pipe);
    std::ostringstream err;
    err << std::ifstream(errors).rdbuf();
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out, err.str()};
}

std::function<void(const Line&)> provide_counter(const char* module) {
    return [module](const Line& line) {
        kstat_t* const ksp = kstat_create(module, 0, "counter", "misc", KSTAT_TYPE_RAW, 4, 0);
        std::memcpy(ksp->ks_data, "abcd", 4);
        kstat_install(ksp);
        take_turns(line);
        kstat_delete(ksp);
    };
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    return address;
}

// The socket listens before it has its name. A provider that starts meanwhile would remove it otherwise.
int listen_as_provider(const std::string& directory, const Line& line) {
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    const std::string path = directory + "/" + std::to_string(getpid()) + ".sock";
    const sockaddr_un address = address_of(path + ".new");
    bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    listen(listener, 16);
    std::filesystem::rename(path + ".new", path);
    line.say('r');
    return listener;
}

void answer_falsely(const std::string& directory, const Line& line,
                    const std::function<void(int)>& answer) {
    const int listener = listen_as_provider(directory, line);
    for (;;) {
        const int peer = accept(listener, nullptr, nullptr);
        std::array<char, 4096> hello;
        if (recv(peer, hello.data(), hello.size(), 0) > 0) answer(peer);
        close(peer);
    }
}

void welcome(int reader) {
    const uint32_t reply[8] = {16, 0, 1, 1, 0x54'41'54'53, 1, static_cast<uint32_t>(getpid()), 0};
    send(reader, reply, sizeof reply, MSG_NOSIGNAL);
}

double milliseconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
}

}  // namespace blkscope
