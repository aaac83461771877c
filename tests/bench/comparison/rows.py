"""Two rows that are not cases: what many connections cost, and what many idle exports hold."""
import os
import resource
import statistics
import time

from comparison import Failure, servers
from comparison.image import MIB
from comparison.loads import Case
from comparison.processes import tree_memory_mib, tree_run_seconds

WIDE = Case('randread', '4k', 1, servers.CONNECTIONS_MAX)
DEEP = Case('randread', '4k', servers.CONNECTIONS_MAX, 1)


def chosen_of(options, able):
    """The servers of `able` that the user has not left out. To choose ours is to choose ours-mem, too, where
    only a server of memory can take part."""
    names = [name for name in able if not options.chosen
             or {name, name.replace('ours-mem', 'ours').replace('base-mem', 'base')} & set(options.chosen)]
    names = [name for name in names if options.base or name not in servers.BASES]
    if not names:
        raise Failure(f'none of --servers can do this; choose among {", ".join(able)}')
    return names


def fan(bench):
    """Server CPU per 4 KiB read from memory, over many connections of depth 1 and one that is as deep."""
    try:
        bench.start_servers(chosen_of(bench.options, servers.OF_MEMORY))
        samples = bench.rounds([WIDE, DEEP], bench.options.rounds)
    finally:
        bench.stop_servers()
    rows = {}
    print(f'\n4 KiB reads from memory: {WIDE.connections} connections of depth 1'
          f' against one of depth {DEEP.depth}')
    print(f'    {"":12}  {"IOPS":>9} {"/":>9}  {"cpu us/op":>9} {"/":>9}  {"cpu ratio":>9}')
    for name in samples[WIDE]:
        pairs = list(zip(samples[WIDE][name], samples[DEEP][name]))
        row = {'wide_iops': statistics.median(wide.iops for wide, _ in pairs),
               'deep_iops': statistics.median(deep.iops for _, deep in pairs),
               'wide_cpu_us': statistics.median(wide.cpu_us for wide, _ in pairs),
               'deep_cpu_us': statistics.median(deep.cpu_us for _, deep in pairs),
               'cpu_ratio': statistics.median(wide.cpu_us / deep.cpu_us for wide, deep in pairs)
                            if all(deep.cpu_us > 0 for _, deep in pairs) else None}
        rows[name] = row
        ratio = '-' if row['cpu_ratio'] is None else f'{row["cpu_ratio"]:.2f}'
        print(f'    {name:12}  {row["wide_iops"]:9.0f} {row["deep_iops"]:9.0f}  {row["wide_cpu_us"]:9.2f}'
              f' {row["deep_cpu_us"]:9.2f}  {ratio:>9}', flush=True)
    return rows


def allow_descriptors(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < count:
        wanted = count if hard < 0 else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def idle(bench):
    """CPU and memory of servers of many exports without a client, each an empty file of 1 MiB."""
    options = bench.options
    folder = bench.path('exports')
    os.mkdir(folder)
    exports = {f'export{number:05}': os.path.join(folder, f'export{number:05}')
               for number in range(options.idle_exports)}
    for path in exports.values():
        with open(path, 'wb') as file:
            file.truncate(MIB)
    allow_descriptors(4 * len(exports) + 256)
    try:
        for name in bench.available(chosen_of(options, servers.OF_MANY_EXPORTS)):
            bench.start_server(servers.make_server_of_many(name, bench, exports))
        time.sleep(1)  # the work that follows a start is not idleness
        return measure_idle(bench, len(exports))
    finally:
        bench.stop_servers()


def measure_idle(bench, exports):
    seconds = bench.options.idle_seconds
    before = {server.name: (time.monotonic(), tree_run_seconds(server.pid)) for server in bench.servers}
    time.sleep(seconds)
    print(f'\n{exports} idle exports, {seconds:g} s')
    print(f'    {"":12}  {"cpu %":>7}  {"RssAnon MiB":>11}  {"Rss MiB":>8}  {"Pss MiB":>8}')
    rows = {}
    for server in bench.servers:
        start, cpu = before[server.name]
        cpu_percent = 100 * (tree_run_seconds(server.pid) - cpu) / (time.monotonic() - start)
        rows[server.name] = row = {'cpu_percent': cpu_percent, **tree_memory_mib(server.pid)}
        print(f'    {server.name:12}  {cpu_percent:7.3f}  {row["RssAnon"]:11.1f}  {row["Rss"]:8.1f}'
              f'  {row["Pss"]:8.1f}', flush=True)
    return rows
