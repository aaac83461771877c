#include "served_device.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/descriptor.hpp"

namespace blkscope::test {
namespace {

constexpr const char* command_seconds_max = "120";

using Chain = std::unique_ptr<kstat_ctl_t, int (*)(kstat_ctl_t*)>;

std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace

uint64_t memory_kib(pid_t process, const std::string& record) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(record)) return std::stoull(line.substr(record.size()));
    }
    ADD_FAILURE() << "no " << record;
    return 0;
}

std::optional<std::string> missing(const std::string& program) {
    std::stringstream folders(std::getenv("PATH"));
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (access((folder + "/" + program).c_str(), X_OK) == 0) return {};
    }
    return "SKIPPED: " + program + " is not installed; see tools/install-deps";
}

uint16_t free_port() {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
    EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    return ntohs(address.sin_port);
}

// ---- Process ----

Process::Process(std::vector<std::string> arguments, const std::filesystem::path& output,
                 const std::filesystem::path& errors)
    : output_(output) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
    if (errors.empty()) {
        posix_spawn_file_actions_adddup2(&actions, 1, 2);
    } else {
        posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                         0644);
    }
    // A background job of a shell is started with SIGINT ignored, and would hand that on.
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::system_error(error, std::generic_category(), arguments[0]);
}

Process::~Process() {
    if (status_ >= 0) return;
    kill(pid_, SIGKILL);
    wait();
}

std::string Process::output() const {
    return read_file(output_);
}

// A process stops some time after the signal.
void Process::signal(int number) const {
    kill(pid_, number);
    if (number != SIGSTOP) return;
    siginfo_t stopped{};
    while (waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED) < 0 && errno == EINTR) {
    }
}

int Process::wait() {
    if (status_ >= 0) return status_;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return status_;
}

bool Process::running() {
    if (status_ >= 0) return false;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return false;
}

// ---- Client ----

Client::Client(const std::string& uri) : nbd_(nbd_create()) {
    nbd_set_strict_mode(nbd_, 0);              // a test's requests shall reach the server
    nbd_set_uri_allow_local_file(nbd_, true);  // certificates and keys
    nbd_add_meta_context(nbd_, LIBNBD_CONTEXT_BASE_ALLOCATION);
    if (nbd_connect_uri(nbd_, uri.c_str()) < 0) {
        const std::string why = nbd_get_error();
        nbd_close(nbd_);
        throw std::runtime_error("connect " + uri + ": " + why);
    }
}

Client::~Client() {
    nbd_close(nbd_);
}

int Client::try_read(uint64_t offset, size_t bytes) {
    std::vector<char> data(bytes + 1);  // never without an address, which libnbd needs
    return nbd_pread(nbd_, data.data(), bytes, offset, 0) < 0 ? nbd_get_errno() : 0;
}

int Client::try_write(uint64_t offset, size_t bytes, char fill, uint32_t flags) {
    const std::vector<char> data(bytes, fill);
    return nbd_pwrite(nbd_, data.data(), bytes, offset, flags) < 0 ? nbd_get_errno() : 0;
}

std::vector<char> Client::read(uint64_t offset, size_t bytes) {
    std::vector<char> data(bytes);
    if (nbd_pread(nbd_, data.data(), bytes, offset, 0) < 0)
        throw std::runtime_error(nbd_get_error());
    return data;
}

// ---- ServedDevice ----

void ServedDevice::SetUp() {
    char path[] = "/tmp/blkscope_test.XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    folder_ = path;
    socket_ = (folder_ / "socket").string();
    setenv("KSTAT_DIR", path, 1);
}

void ServedDevice::TearDown() {
    if (server_ && HasFailure()) GTEST_LOG_(INFO) << "the server said:\n" << server_->output();
    server_.reset();
    std::filesystem::remove_all(folder_);
}

std::string ServedDevice::make_image(const std::string& name, uint64_t bytes) {
    const std::string image = path(name);
    std::ofstream(image).flush();
    std::filesystem::resize_file(image, bytes);
    return image;
}

std::unique_ptr<Process> ServedDevice::start_server(std::vector<std::string> arguments,
                                                    const std::string& log) {
    arguments.insert(arguments.begin(), {BLKSCOPE_BINARY, "serve"});
    return start_process(arguments, log);
}

std::unique_ptr<Process> ServedDevice::start_process(const std::vector<std::string>& command,
                                                     const std::string& log) {
    auto server = std::make_unique<Process>(command, folder_ / log);
    const bool ready = eventually(
        [&] { return server->output().find("://") != std::string::npos || !server->running(); });
    EXPECT_TRUE(ready && server->running()) << server->output();
    return server;
}

void ServedDevice::serve(const std::string& backing, const std::vector<std::string>& options) {
    std::vector<std::string> arguments{backing, "--unix", socket_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    server_ = start_server(arguments, "server.log");
    ASSERT_TRUE(server_->running());
}

void ServedDevice::serve_with(const std::vector<std::string>& arguments) {
    server_ = start_server(arguments, "server.log");
    ASSERT_TRUE(server_->running());
}

std::unique_ptr<Process> ServedDevice::serve_beside(const std::string& backing,
                                                    const std::string& socket,
                                                    const std::vector<std::string>& options) {
    std::vector<std::string> arguments{backing, "--unix", path(socket)};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return start_server(arguments, socket + ".log");
}

std::string ServedDevice::serve_tcp(const std::string& backing) {
    server_ = start_server({backing, "--port", "0"}, "server.log");
    const std::string said = server_->output();
    const size_t begin = said.find("nbd://");
    if (begin == std::string::npos) throw std::runtime_error("no TCP URI in: " + said);
    return said.substr(begin, said.find('/', begin + std::strlen("nbd://")) - begin);
}

int ServedDevice::stop_server() {
    server_->signal(SIGTERM);
    return server_->wait();
}

void ServedDevice::configure(const std::string& exports) {
    std::ofstream(path("lab.json"))
        << "{\"listen\": [\"unix:" << socket_ << "\"], \"exports\": [" << exports << "]}";
}

void ServedDevice::reload(const std::string& answer) {
    const size_t before = server_->output().size();
    server_->signal(SIGHUP);
    EXPECT_TRUE(eventually([&] {
        return server_->output().find(answer, before) != std::string::npos;
    })) << server_->output();
}

std::string ServedDevice::uri(const std::string& export_name) const {
    return "nbd+unix:///" + export_name + "?socket=" + socket_;
}

std::string ServedDevice::uri_at(const std::string& socket, const std::string& export_name) const {
    return "nbd+unix:///" + export_name + "?socket=" + path(socket);
}

CommandResult ServedDevice::run(const std::vector<std::string>& arguments) {
    std::vector<std::string> bounded{"timeout", command_seconds_max};
    bounded.insert(bounded.end(), arguments.begin(), arguments.end());
    Process process(bounded, folder_ / ("command" + std::to_string(commands_run_++) + ".log"));
    const int status = process.wait();
    return {status, process.output()};
}

std::string ServedDevice::succeed(const std::vector<std::string>& arguments) {
    const CommandResult result = run(arguments);
    std::string command;
    for (const std::string& argument : arguments) command += argument + " ";
    EXPECT_EQ(result.status, 0) << command << "said:\n" << result.output;
    return result.output;
}

std::string ServedDevice::blkscope(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), BLKSCOPE_BINARY);
    return succeed(arguments);
}

std::string ServedDevice::refused(std::vector<std::string> arguments, int status) {
    arguments.insert(arguments.begin(), BLKSCOPE_BINARY);
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, status) << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
    EXPECT_EQ(result.output.rfind("blkscope: ", 0), 0u) << result.output;
    return result.output;
}

kstat_io_t ServedDevice::read_io(const std::string& name) {
    kstat_io_t io{};
    const Chain chain(kstat_open(), kstat_close);
    kstat_t* ksp = chain ? kstat_lookup(chain.get(), nullptr, -1, name.c_str()) : nullptr;
    if (ksp == nullptr || kstat_read(chain.get(), ksp, &io) < 0) {
        ADD_FAILURE() << "read kstat " << name << ": " << std::strerror(errno);
    }
    return io;
}

uint64_t ServedDevice::read_command_count(const std::string& record, const std::string& name) {
    const Chain chain(kstat_open(), kstat_close);
    const std::string full = name + ",cmds";
    kstat_t* ksp = chain ? kstat_lookup(chain.get(), nullptr, -1, full.c_str()) : nullptr;
    if (ksp != nullptr && kstat_read(chain.get(), ksp, nullptr) >= 0) {
        if (auto* named = static_cast<kstat_named_t*>(kstat_data_lookup(ksp, record.c_str()))) {
            return named->value.ui64;
        }
    }
    ADD_FAILURE() << "read kstat " << full << ":" << record;
    return 0;
}

}  // namespace blkscope::test
