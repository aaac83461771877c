// Feeds any text to the parser of configuration files.
//
// The parser may refuse a text, by std::invalid_argument alone, and names the file. All numbers of an
// accepted configuration are within their limits, and no two exports have one name. A comment behind the text changes nothing.
// Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "driver/nbd/text.hpp"
#include "require.hpp"
#include "tools/blkscope/config.hpp"

namespace {

using namespace blkscope;

void check_export(const ExportConfig& exp) {
    require(nbd::valid_string(exp.name) && !exp.name.empty() && !exp.backing.empty());
    require(exp.queue_depth >= 1 && exp.queue_depth <= queue_depth_max);
    require(exp.stats_rate <= stats_rate_max && exp.client_stats <= client_stats_max);
    require(exp.upstream.timeout.count() > 0 && exp.upstream.settle.count() >= 0);
    const BehaviourConfig& behaviour = exp.behaviour;
    if (behaviour.model) require(parse_model(behaviour.model->text()) == *behaviour.model);
    if (behaviour.limits) {
        require(model::LimitSpec::parse(behaviour.limits->text()) == *behaviour.limits);
    }
    for (const std::string& rule : behaviour.faults) {
        static_cast<void>(parse_fault(rule, any_size_bytes).text());
    }
}

void check(const ServiceConfig& config) {
    require(!config.exports.empty());
    require(config.workers <= workers_max && config.recorder_records <= recorder_records_max);
    require(config.connections_max >= 1 && config.connections_max <= clients_max);
    require(config.handshakes_max >= 1 && config.handshakes_max <= clients_max);
    require(config.handshake_seconds >= 1 && config.handshake_seconds <= handshake_seconds_max);
    for (const ListenAddress& address : config.listen) {
        require(address.unix_path.empty() || (address.host.empty() && address.port == 0));
    }
    std::set<std::string> names;
    size_t defaults = 0;
    for (const ExportConfig& exp : config.exports) {
        check_export(exp);
        require(names.insert(exp.name).second);
        defaults += exp.is_default ? 1 : 0;
    }
    require(defaults <= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // A measured model has a file, which the parser opens. A fuzzer must not open any path.
    if (text.find("mpirical") != text.npos || text.find("\\u") != text.npos) return 0;
    ServiceConfig config;
    try {
        config = parse_config(text, "the file");
    } catch (const std::invalid_argument& refused) {
        require(std::string_view(refused.what()).starts_with("the file: "));
        return 0;
    }
    check(config);
    require(parse_config(std::string(text) + "\n/* { */ // }", "another") == config);
    return 0;
}
