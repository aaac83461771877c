"""The tables of the truth, as Markdown, and how they get into the document."""
import collections
import re


class Row(collections.namedtuple('Row', 'queue load figure theory seen error counted')):
    """A figure of one run in virtual time."""

    @property
    def deviation_errors(self):
        """The deviation in standard errors; None for a figure without any spread."""
        return (self.seen - self.theory) / self.error if self.error > 1e-9 * abs(self.theory) else None


Curve = collections.namedtuple('Curve', 'queue load wait waiting')
Tail = collections.namedtuple('Tail', 'queue load time share')
Recursion = collections.namedtuple('Recursion', 'model runs difference')
Closed = collections.namedtuple('Closed', 'clients servers wait actv rate')
Burst = collections.namedtuple('Burst', 'limits load theory seen exceeded_ns wait_ns')
KINDS = {'theory': Row, 'curve': Curve, 'tail': Tail, 'recursion': Recursion, 'closed': Closed, 'burst': Burst}


def value_of(field):
    try:
        return float(field)
    except ValueError:
        return field


def parse(output):
    """{kind: its rows} of the output of truth_table."""
    rows = collections.defaultdict(list)
    for line in output.splitlines():
        kind, *fields = line.split('\t')
        rows[kind].append(KINDS[kind](*map(value_of, fields)))
    return rows


def number(value, digits=5):
    """With so many digits, and without an exponent where that is short."""
    if value and (abs(value) < 1e-4 or abs(value) >= 1e7):
        return f'{value:.2e}'
    return f'{value:.{digits}g}' if abs(value) < 1e5 else f'{value:,.0f}'


def table(heads, rows):
    aligned = [head.startswith('>') for head in heads]
    lines = ['| ' + ' | '.join(head.lstrip('>') for head in heads) + ' |',
             '| ' + ' | '.join('---:' if right else '---' for right in aligned) + ' |']
    return '\n'.join([*lines, *('| ' + ' | '.join(map(str, row)) + ' |' for row in rows)])


def recursion_table(rows):
    return table(['model', '>runs', '>integrals', '>largest difference'],
                 [(f'`{row.model}`', int(row.runs), int(4 * row.runs), f'{int(row.difference)} ns') for row in rows])


def closed_table(rows):
    def with_theory(seen, theory):
        return number(seen) if seen == theory else f'{number(seen)} (theory {number(theory)})'

    def fields(row):
        active = min(row.clients, row.servers)
        return (int(row.clients), int(row.servers), with_theory(row.wait, row.clients - active),
                with_theory(row.actv, active), with_theory(row.rate, 1000 * active))
    return table(['>clients', '>servers', '>wait', '>actv', '>requests/s'], map(fields, rows))


def burst_table(rows):
    return table(['limits', 'load', '>credits end, theory', '>seen', '>exceeded_ns', '>wtime'],
                 [(f'`{row.limits}`', row.load, f'{number(row.theory)} s',
                   f'{row.seen:.3f} s ({percent(row.seen, row.theory)})', f'{int(row.exceeded_ns):,}',
                   f'{int(row.wait_ns):,}') for row in rows])


def percent(seen, theory):
    return f'{100 * (seen - theory) / theory:+.2f} %'


ORDER = ('wait', 'actv', 'wsvc_t', 'asvc_t', '%w', '%b')


def theory_rows(rows):
    def place(row):
        return row.load, ORDER.index(row.figure) if row.figure in ORDER else len(ORDER)
    for row in sorted(rows, key=place):
        if row.counted:
            yield (f'{row.load:g}', row.figure, f'{row.theory:.2g}', f'{row.seen:g}', f'{row.error:.2g}', '')
            continue
        errors = row.deviation_errors
        yield (f'{row.load:g}', row.figure, number(row.theory), number(row.seen), number(row.error, 2),
               percent(row.seen, row.theory) + ('' if errors is None else f', {errors:+.1f}'))


def theory_tables(rows):
    parts = []
    for queue in dict.fromkeys(row.queue for row in rows):
        mine = [row for row in rows if row.queue == queue]
        heads = ['>load', 'figure', '>theory', '>seen', '>standard error', '>deviation, in standard errors']
        parts += [f'### {queue}', table(heads, theory_rows(mine))]
    return '\n\n'.join(parts)


def summary_table(rows):
    """A line for each queue: the largest deviations."""
    def fields(queue):
        mine = [row for row in rows if row.queue == queue and not row.counted]
        errors = [abs(row.deviation_errors) for row in mine if row.deviation_errors is not None]
        sharp = [row for row in mine if row.error <= 0.0025 * row.theory]
        worst = max((abs(row.seen / row.theory - 1) for row in sharp), default=0)
        return (queue, len(mine), f'{max(errors):.1f}', sum(1 for error in errors if error > 2), len(sharp),
                f'{100 * worst:.2f} %')
    queues = dict.fromkeys(row.queue for row in rows)
    return table(['queue', '>figures', '>largest deviation, standard errors', '>of more than 2',
                  '>figures with an error of 0.25 % or less', '>largest deviation of these'], map(fields, queues))


def insert(document, name, content):
    """The document with `content` between the marks of this name."""
    pattern = re.compile(rf'(<!-- begin {name} -->\n).*?(<!-- end {name} -->)', re.DOTALL)
    new, count = pattern.subn(lambda found: f'{found[1]}\n{content}\n\n{found[2]}', document)
    if count != 1:
        raise ValueError(f'the document has no marks of the name {name}')
    return new
