"""Figures: medians, ratios round by round, the table of a case, that of a grid, and the CSV file."""
import csv
import dataclasses
import statistics
import sys

from comparison.loads import Sample
from comparison.servers import OURS, PEERS, PEERS_ON_THE_IMAGE

LETTERS = {'nbdkit-file': 'f', 'nbdkit-mem': 'm', 'qemu-nbd': 'q', 'nbd-server': 's'}
CSV_COLUMNS = ('folios', 'transport', 'rw', 'block', 'depth', 'connections', 'server', 'iops', 'mean_us',
               'p99_us', 'cpu_us', 'reference', 'iops_ratio', 'cpu_ratio')


def median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def medians(samples):
    assert samples
    return {field.name: median(getattr(sample, field.name) for sample in samples)
            for field in dataclasses.fields(Sample)}


def ratio(mine, theirs, field):
    """Median of the ratios round by round; None when a run was too short for the CPU clock's tick."""
    pairs = [(getattr(a, field), getattr(b, field)) for a, b in zip(mine, theirs)]
    return statistics.median(a / b for a, b in pairs) if all(b > 0 for _, b in pairs) else None


def least(ratios, names):
    """The server among the names that the reference beats least, or by which it is beaten most."""
    there = [(ratios[name]['iops'], name) for name in names if name in ratios]
    return dict(zip(('ratio', 'server'), min(there))) if there else None


def evaluate(case, samples):
    reference = next((name for name in samples if name in OURS), next(iter(samples)))
    ratios = {name: {field: ratio(samples[reference], theirs, field) for field in ('iops', 'cpu_us')}
              for name, theirs in samples.items() if name != reference}
    return {
        'case': dataclasses.asdict(case),
        'reference': reference,
        'servers': {name: {'median': medians(rounds),
                           'rounds': [dataclasses.asdict(sample) for sample in rounds]}
                    for name, rounds in samples.items()},
        'ratios': ratios,
        'least_iops_ratio': least(ratios, PEERS),
        'least_iops_ratio_on_the_image': least(ratios, PEERS_ON_THE_IMAGE),
    }


def is_slower(result, tolerance):
    """Whether a build has become slower than the one before: the median of the ratios says so, and three
    rounds in four do."""
    if 'base' not in result['servers'] or result['reference'] == 'base':
        return False
    mine, before = ([sample['iops'] for sample in result['servers'][name]['rounds']]
                    for name in (result['reference'], 'base'))
    assert len(mine) == len(before)
    below = sum(a < b for a, b in zip(mine, before))
    return result['ratios']['base']['iops'] < 1 - tolerance and below >= 0.75 * len(mine)


def cell(value, form, width):
    return f'{"-" if value is None else format(value, form):>{width}}'


def show(case, result):
    print(f'\n{case}')
    print(f'    {"":12}  {"IOPS":>9}  {"MiB/s":>7}  {"mean us":>9}  {"p99 us":>9}  {"server cpu us/op":>16}')
    for name, figures in result['servers'].items():
        middle = figures['median']
        print(f'    {name:12}  {middle["iops"]:9.0f}  {middle["iops"] * case.block_bytes / 2**20:7.0f}'
              f'  {cell(middle["mean_us"], ".1f", 9)}  {cell(middle["p99_us"], ".1f", 9)}'
              f'  {middle["cpu_us"]:16.2f}')
    reference = result['reference']
    for name, both in result['ratios'].items():
        print(f'    {f"{reference} / {name}":24}  IOPS x {both["iops"]:5.2f}'
              f'  cpu per op x {cell(both["cpu_us"], ".2f", 5)}')
    for key, words in (('least_iops_ratio', 'to a peer'),
                       ('least_iops_ratio_on_the_image', 'to a peer that serves the image')):
        if result[key]:
            print(f'    least IOPS ratio {words}: {result[key]["ratio"]:.2f}'
                  f' ({result[key]["server"]})')
    sys.stdout.flush()


def show_line(case, result):
    """A cell of the grid as it comes in."""
    reference = result['reference']
    middle = result['servers'][reference]['median']
    line = (f'{result["folios"]:5} {case.rw:9} {case.block:>4} depth {case.depth:2} x {case.connections}'
            f'  {reference} {middle["iops"]:7.0f}/s {middle["cpu_us"]:7.2f} us')
    others = [result['least_iops_ratio'] and result['least_iops_ratio']['server'], 'base']
    for name in others:
        if name in result['ratios']:
            both = result['ratios'][name]
            line += f'  {name} x {both["iops"]:.2f} cpu x {cell(both["cpu_us"], ".2f", 0)}'
    print(line, flush=True)


def unique(values):
    return list(dict.fromkeys(values))


def show_grid(results):
    """Two tables, requests and server CPU, with a line for each load and a column for each depth in each
    state of the page cache: ratios against the peer that the reference beats least in that cell."""
    cells = {(result['folios'], *result['case'].values()): result for result in results
             if result['least_iops_ratio']}
    if not cells:
        return
    columns = unique((key[0], key[3]) for key in cells)
    lines = unique((key[1], key[2], key[4]) for key in cells)
    legend = ', '.join(f'{letter} {name}' for name, letter in LETTERS.items())
    reference = next(iter(cells.values()))['reference']
    for field, title in (('iops', 'requests per second'), ('cpu_us', 'server CPU per request')):
        print(f'\n{title}, {reference} against the best peer of each cell ({legend})')
        print(f'{"":23}' + ''.join(f'  {f"{folios} {depth}":>8}' for folios, depth in columns))
        for rw, block, connections in lines:
            line = f'{rw:9} {block:>4}  {connections} conn '
            for folios, depth in columns:
                result = cells.get((folios, rw, block, depth, connections))
                best = result and result['least_iops_ratio']['server']
                line += '  ' + (f'{cell(result["ratios"][best][field], ".2f", 7)}{LETTERS[best]}'
                                if result else f'{"":8}')
            print(line)
    slowest = min(cells.values(), key=lambda result: result['least_iops_ratio']['ratio'])
    print(f'\nleast of {len(cells)} cells: {slowest["least_iops_ratio"]["ratio"]:.2f}'
          f' ({slowest["least_iops_ratio"]["server"]}, {slowest["folios"]} folios,'
          f' {" ".join(str(value) for value in slowest["case"].values())})', flush=True)


def write_csv(path, results):
    """A row for each server of each case. A ratio is the reference's figure over that server's."""
    with open(path, 'w', encoding='utf-8', newline='') as file:
        writer = csv.DictWriter(file, CSV_COLUMNS)
        writer.writeheader()
        for result in results:
            for name, figures in result['servers'].items():
                ratios = result['ratios'].get(name, {})
                writer.writerow({
                    'folios': result['folios'], 'transport': result['transport'], **result['case'],
                    'server': name, **figures['median'], 'reference': result['reference'],
                    'iops_ratio': ratios.get('iops'), 'cpu_ratio': ratios.get('cpu_us')})
