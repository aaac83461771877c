"""Results: a row for each run of a piece, a line of JSON each, and the table of them all.

Rows of several runs add up where a piece says how: seeds, seconds of a fuzzer. Of the other pieces the table
has the last run.

Units: seconds; dates of UTC.
"""
import json
import os

HEAD = ('piece', 'command', 'runs', 'duration', 'figures', 'date', 'verdict')


def read(path):
    if not path.exists():
        return []
    with open(path, encoding='utf-8') as file:
        rows = [row_of(line) for line in file]
    return [row for row in rows if row is not None]


def row_of(line):
    """The row, or None of an empty line and of one that was cut off while it was written."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def append(path, row):
    """Adds a row as a whole, also if two runs end at one moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = '\n' + json.dumps(row) + '\n'  # apart from one that was cut off
    with open(path, 'a', encoding='utf-8') as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def together(*paths):
    """The rows of several files in the order of their dates, each once."""
    rows = {json.dumps(row): row for path in paths for row in read(path)}
    return sorted(rows.values(), key=lambda row: row['date'])


def write(path, rows):
    path.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')


def duration_text(seconds):
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f'{hours} h {minutes:02d} min'
    return f'{minutes} min {rest:02d} s' if minutes else f'{rest} s'


def dates_text(rows):
    first, last = rows[0]['date'][:10], rows[-1]['date'][:10]
    return first if first == last else f'{first} to {last}'


def verdict_text(rows):
    """The last run has the verdict: it began after the mends of what earlier ones have found."""
    found = rows[-1]['found']
    if not found:
        earlier = sum(len(row['found']) for row in rows)
        return f'passed; earlier runs found {earlier}' if earlier else 'passed'
    return f'**FAILED**: {found[0]}' + (f', and {len(found) - 1} more' if len(found) > 1 else '')


def without_folders(line, *folders):
    """The line with paths below these folders as they are below them: a document is for other machines, too."""
    for folder in folders:
        line = line.replace(f'{folder}/', '')
    return line


def counted_rows(piece, rows):
    """The rows that the table shows: all where they add up, else the last of those that were whole.

    A run that a finding ended early was not whole.
    """
    if piece.together is not None:
        return rows
    longest = max(row['seconds'] for row in rows)
    rows = [row for row in rows if not row['found'] or 2 * row['seconds'] >= longest]
    most = max(row['share'] for row in rows)
    return [row for row in rows if row['share'] == most][-1:]


def cells(piece, rows):
    counted = counted_rows(piece, rows)
    return (piece.name, f'`tests/run --long {piece.name}`', str(len(rows)),
            duration_text(sum(row['seconds'] for row in counted)), piece.figures_text(counted), dates_text(counted),
            verdict_text(counted))


def table(pieces, rows):
    """The Markdown table of all pieces that have run."""
    lines = [HEAD, tuple('---' for _ in HEAD)]
    for piece in pieces:
        own = [row for row in rows if row['piece'] == piece.name]
        if own:
            lines.append(tuple(cell.replace('|', '\\|') for cell in cells(piece, own)))
    return '\n'.join('| ' + ' | '.join(line) + ' |' for line in lines)
