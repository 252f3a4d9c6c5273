#!/usr/bin/env python3
"""Searches all interleavings of a forwarded call: the node that has the device's link (the owner)
runs the whole pipeline, the node where the request came in only forwards it.

Proxies P1 and P2 forward one key (f1, f2) to the owners B and C; the device begins at B and may
move to C and back. A write to a dead socket may be known not to have been sent. Messages may be
lost and overtake each other. An owner may be paused between its look at the lease and its write; it
may die; its lease may lapse, and it may come back (incarnation 2, the same memory). With resume an
owner asks for the answer where the device is now, and a node that has the device adopts what
another has admitted; the device never runs an id twice, but forgets one whose answer is
acknowledged. Source: docs/protocols/fleet.md, sections 5, 6 and 9.

usage: owner_model.py    all runs, complete: some minutes
"""
from collections import namedtuple

from search import Found, get, put, search

# An owner. One key, so one execution at a time: `pc` is where it is, `ref` what it runs under,
# `run_inc` the incarnation of that, `adm` what this process has admitted itself; `seen` forwards,
# and `waiters` for the end; `link`: which link of the device it is about to write to.
O = namedtuple('O', 'alive boot inc lease pg pc ref run_inc adm seen waiters link')
# A proxy, in p1 and p2, is (where it is, forwards not yet refused, its answer, how many it sent).
# `acked`: what the device may have forgotten, with the node of the link that has told it so. `link`
# is another whenever the device moves: a write to a former one reaches nobody.
S = namedtuple('S', 'row ends b c dev starts acked msgs p1 p2 kills laps back link')
# The rules, each a switch: without one of them the search has to find a fault.
RULES = {
    'seal',  # a take-over inserts the end of the old ref; an end that loses reads it
    'doubt',  # a process that was not addressed refuses without proving anything
    'inc',  # a ref is dispatched only under the incarnation that admitted it
    'lock',  # release and adoption lock the row, see whose it is, then read the end
    # only who admitted a ref releases it: who adopted it knows of its own attempts only
    'own',
    'fence',  # a call is adopted only from an owner that is fenced off
    'once',  # what was adopted is sent once, and not again if that was surely not written
    'kept',  # the device is told that it may forget an answer when the end is stored, not before
    'each',  # "nothing run" only when every process that got the forward said so
}


def init():
    o = O(True, 1, 1, True, (1, 'live'), 'idle', None, 0, None, frozenset(), frozenset(), 0)
    return S(
        None,
        (),
        o,
        o,
        'B',
        (),
        frozenset(),
        frozenset(),
        ('idle', frozenset(), None, 0),
        ('idle', frozenset(), None, 0),
        0,
        0,
        0,
        0,
    )


# long: every step that can follow is a line or two; they are read side by side
def succ(s, F, idem, resume):
    out = []

    def t(l, **kw):
        out.append((l, s._replace(**kw)))

    def who(x):
        return s.b if x == 'B' else s.c

    def knows(ref):
        return any(r == ref for r, _ in s.starts) and not any(r == ref for r, _ in s.acked)

    def acknowledged(ref):
        return s.acked | {(ref, s.dev)}

    def answered(ref):
        return s.acked if 'kept' in F else acknowledged(ref)

    def setw(x, o, **kw):
        return s._replace(**({'b': o} if x == 'B' else {'c': o}), **kw)

    # proxies
    for name, p in (('p1', s.p1), ('p2', s.p2)):
        pc, outst, ans, sends = p
        f = 'f' + name[1]
        if pc in ('idle', 'wait') and sends < (2 if name == 'p1' else 1) and ans is None:
            for x in 'BC':
                if x == s.dev or sends == 0:  # routes may be stale at the first try
                    o = who(x)
                    if o.alive:
                        t(
                            f'{name} forwards {f} to {x}',
                            **{
                                name: (
                                    'wait',
                                    outst | {(x, o.boot if 'each' in F else 1)},
                                    None,
                                    sends + 1,
                                )
                            },
                            msgs=s.msgs | {('FWD', f, x, o.boot)},
                        )
    for m in s.msgs:
        rest = s.msgs - {m}
        if m[0] == 'FWD':
            _, f, x, boot = m
            o = who(x)
            if not o.alive:
                continue
            if f in o.seen:
                continue
            if boot != o.boot:
                out.append(
                    (
                        f'{x}: {f} is for another life: refused, in doubt',
                        s._replace(
                            msgs=rest | {('ANS', f, x, 'doubt' if 'doubt' in F else 'moved', boot)}
                        ),
                    )
                )
                continue
            if s.dev != x:
                out.append(
                    (
                        f'{x}: {f}: device is not here: REFUSED moved',
                        setw(
                            x,
                            o._replace(seen=o.seen | {f}),
                            msgs=rest | {('ANS', f, x, 'moved', boot)},
                        ),
                    )
                )
                continue
            out.append(
                (
                    f'{x} takes {f}',
                    setw(
                        x,
                        o._replace(
                            seen=o.seen | {f},
                            waiters=o.waiters | {f},
                            pc='got' if o.pc in ('idle', 'fin') else o.pc,
                        ),
                        msgs=rest,
                    ),
                )
            )
        if m[0] == 'ANS':
            _, f, x, a = m[:4]
            name = 'p' + f[1]
            pc, outst, ans, sends = getattr(s, name)
            if ans is not None:
                continue
            if a == 'moved':
                left = outst - {(x, m[4] if 'each' in F else 1)}
                t(
                    f'{name} hears from {x}: surely not run',
                    msgs=rest,
                    **{name: ('wait', left, None, sends)},
                )
            elif a == 'doubt':
                t(
                    f'{name} hears from {x}: in doubt',
                    msgs=rest,
                    **{name: ('wait', outst, None, sends)},
                )
            else:
                t(f'{name} answers {a}', msgs=rest, **{name: ('done', outst, a, sends)})
        if m[0] == 'REPLY':
            _, ref, n, x = m
            o = who(x)
            if o.alive and o.pc == 'written' and o.ref == ref:
                out.append(
                    (
                        f'{x} gets the device\'s reply {n} by way of the other node',
                        setw(x, o._replace(pc=('end', n)), msgs=rest, acked=answered(ref)),
                    )
                )
    for name, p in (('p1', s.p1), ('p2', s.p2)):
        pc, outst, ans, sends = p
        if pc == 'wait' and ans is None and sends > 0 and not outst:
            t(f'{name} answers "nothing run"', **{name: ('done', outst, 'nothing', sends)})
    # owners
    for x in 'BC':
        o = who(x)
        other = 'C' if x == 'B' else 'B'
        oo = who(other)
        if not o.alive:
            continue
        up = lambda l, o2, **kw: out.append((l, setw(x, o2, **kw)))

        def tell(a):
            return s.msgs | {('ANS', f, x, a, o.boot) for f in o.waiters}

        live = o.pg == (o.inc, 'live')
        if o.pc == 'got' and live:
            e = get(s.ends, s.row[0]) if s.row else None
            ref = f'r{x}{len([1 for r, _ in s.ends if r.startswith("r" + x)])}'
            if s.row is None:
                up(
                    f'{x} commits admission ({ref})',
                    o._replace(pc='adm', ref=ref, run_inc=o.inc, adm=ref),
                    row=(ref, x, o.inc),
                )
            elif e == 'NOTHING':
                up(
                    f'{x} admits anew over a release ({ref})',
                    o._replace(pc='adm', ref=ref, run_inc=o.inc, adm=ref),
                    row=(ref, x, o.inc),
                )
            elif e is not None:
                up(f'{x} replays {e}', o._replace(pc='fin', waiters=frozenset()), msgs=tell(e))
            elif s.row[1] == x and s.row[2] == o.inc and o.ref == s.row[0]:
                pass
            else:
                r, w, winc = s.row
                fenced = who(w).pg != (winc, 'live')
                if resume and s.dev == x and (fenced or 'fence' not in F):
                    up(
                        f'{x} asks the same instance again, same id {r}',
                        o._replace(pc='chk', ref=r, run_inc=o.inc, link=s.link),
                        row=(r, x, o.inc) if 'lock' in F else s.row,
                    )
                elif fenced and idem:
                    if 'seal' in F:
                        up(
                            f'{x} takes over: end({r})=SUP, row {ref}',
                            o._replace(pc='adm', ref=ref + "'", run_inc=o.inc, adm=ref + "'"),
                            row=(ref + "'", x, o.inc),
                            ends=put(s.ends, r, 'SUP'),
                        )
                    else:
                        up(f'{x} decides to take over', o._replace(pc=('take', r)))
                elif fenced:
                    up(
                        f'{x}: open row of a dead owner: UNKNOWN',
                        o._replace(pc='fin', waiters=frozenset()),
                        msgs=tell('unknown'),
                    )
        if isinstance(o.pc, tuple) and o.pc[0] == 'take' and s.row and s.row[0] == o.pc[1]:
            ref = f'r{x}t'
            up(
                f'{x} takes over: UPDATE row {ref}',
                o._replace(pc='adm', ref=ref, run_inc=o.inc, adm=ref),
                row=(ref, x, o.inc),
            )
        if o.pc == 'adm':
            if o.lease and ('inc' not in F or o.run_inc == o.inc):
                up(f'{x}: lease is good', o._replace(pc='chk', link=s.link))
            else:
                e = get(s.ends, o.ref)
                mine = 'own' not in F or o.adm == o.ref or idem
                if 'lock' in F and (s.row != (o.ref, x, o.run_inc) or not mine):
                    up(
                        f'{x}: no lease, and the row is not mine any more',
                        o._replace(pc='fin', waiters=frozenset()),
                        msgs=tell('unknown'),
                    )
                else:
                    up(
                        f'{x}: no lease after the commit: end({o.ref})=NOTHING',
                        o._replace(pc='fin', waiters=frozenset()),
                        ends=put(s.ends, o.ref, 'NOTHING') if e is None else s.ends,
                        msgs=tell('unavailable' if o.adm == o.ref else 'unknown'),
                    )
        if o.pc == 'chk':
            if s.dev == x and o.link == s.link:
                if (o.ref, x) in s.acked:
                    up(
                        f'{x}: the device need not know {o.ref} any more',
                        o._replace(pc='fin', waiters=frozenset()),
                        msgs=tell('unknown'),
                    )
                elif resume and knows(o.ref):
                    up(f'{x} writes {o.ref} again: the device knows it', o._replace(pc='written'))
                elif len(s.starts) < 3:
                    up(
                        f'{x} writes {o.ref}: run {len(s.starts)+1}',
                        o._replace(pc='written'),
                        starts=s.starts + ((o.ref, o.waiters),),
                    )
            else:
                up(f'{x} writes {o.ref} to a dead socket', o._replace(pc='written'))
                up(f'{x}: {o.ref} is surely not written', o._replace(pc='unsent'))
        if o.pc == 'unsent':
            if o.adm == o.ref or 'once' not in F:
                up(f'{x} tries again', o._replace(pc='adm'))
            if s.row == (o.ref, x, o.run_inc) and (o.adm == o.ref or 'own' not in F or idem):
                e = get(s.ends, o.ref)
                up(
                    f'{x} gives up: end({o.ref})=NOTHING',
                    o._replace(pc='fin', waiters=frozenset()),
                    ends=put(s.ends, o.ref, 'NOTHING') if e is None else s.ends,
                    msgs=tell('unavailable' if o.adm == o.ref else 'unknown'),
                )
            else:
                up(
                    f'{x} gives up: the ref is not mine alone',
                    o._replace(pc='fin', waiters=frozenset()),
                    msgs=tell('unknown'),
                )
        if o.pc == 'written':
            ns = [i + 1 for i, (r, _) in enumerate(s.starts) if r == o.ref]
            if ns and s.dev == x:
                up(
                    f'device answers run {ns[-1]} to {x}',
                    o._replace(pc=('end', ns[-1])),
                    acked=answered(o.ref),
                )
            if ns and s.dev != x and who(s.dev).alive and ('REPLY', o.ref, ns[-1], x) not in s.msgs:
                t(
                    f'device answers run {ns[-1]} to {s.dev}, which passes it on to {x}',
                    msgs=s.msgs | {('REPLY', o.ref, ns[-1], x)},
                )
            if resume and s.dev != x and who(s.dev).alive and o.lease and o.run_inc == o.inc:
                if not any(r == o.ref for r, _ in s.starts):
                    t(
                        f'{x} has {s.dev} ask for {o.ref}: run {len(s.starts)+1}',
                        starts=s.starts + ((o.ref, o.waiters),),
                    )
            if s.dev != x or not resume:
                # Fenced off, it may be adopted, and what is not known here says nothing.
                stored = o.run_inc == o.inc and live and get(s.ends, o.ref) is None
                up(
                    f'{x}: grace over: UNKNOWN ({"stored" if stored else "not stored"})',
                    o._replace(pc='fin', waiters=frozenset()),
                    msgs=tell('unknown'),
                    ends=put(s.ends, o.ref, 'UNKNOWN') if stored else s.ends,
                )
        if isinstance(o.pc, tuple) and o.pc[0] == 'end':
            e = get(s.ends, o.ref)
            n = o.pc[1]
            if e is None:
                up(
                    f'{x} commits end({o.ref})={n}',
                    o._replace(pc='fin', waiters=frozenset()),
                    ends=put(s.ends, o.ref, n),
                    msgs=tell(n),
                    acked=acknowledged(o.ref),
                )
            elif e == n:
                up(
                    f'{x}: end is there, the same',
                    o._replace(pc='fin', waiters=frozenset()),
                    msgs=tell(n),
                    acked=acknowledged(o.ref),
                )
            elif 'seal' in F:
                up(
                    f'{x}: end({o.ref}) says {e}',
                    o._replace(pc='fin', waiters=frozenset()),
                    msgs=tell('unknown'),
                )
            else:
                up(
                    f'{x}: answers {n} although the row is another\'s',
                    o._replace(pc='fin', waiters=frozenset()),
                    msgs=tell(n),
                )
        if o.lease and s.laps < 1:
            up(f'{x}: lease lapses (paused or cut off)', o._replace(lease=False), laps=1)
        if not o.lease and live:
            up(f'{x} renews in time', o._replace(lease=True))
        if not o.lease and live:
            up(f'{x} is fenced', o._replace(pg=(o.inc, 'fenced')))
        if o.pg[1] == 'fenced':
            up(
                f'{x} comes back, incarnation {o.inc+1}',
                o._replace(pg=(o.inc + 1, 'live'), inc=o.inc + 1, lease=True),
            )
        if s.kills < 1 and o.pc != 'idle':
            up(
                f'{x} is killed, and its device link with it',
                o._replace(alive=False, lease=False, pg=(o.inc, 'dead')),
                kills=1,
                dev=other if s.dev == x else s.dev,
                link=s.link + (s.dev == x),
            )
            up(
                f'{x} is killed and starts again',
                O(
                    True,
                    o.boot + 1,
                    o.inc + 1,
                    True,
                    (o.inc + 1, 'live'),
                    'idle',
                    None,
                    0,
                    None,
                    frozenset(),
                    frozenset(),
                    0,
                ),
                kills=1,
            )
    if s.dev == 'B' and s.c.alive and not s.back:
        t('the device moves to C', dev='C', link=s.link + 1)
    if s.dev == 'C' and s.b.alive and not s.back:
        t('the device moves back to B', dev='B', back=1, link=s.link + 1)
    return out


def bad(s, idem, resume):
    runs = s.starts
    if not idem and len(runs) > 1:
        return 'I1: a non-idempotent call ran twice'
    oks = {p[2] for p in (s.p1, s.p2) if isinstance(p[2], int)}
    if len(oks) > 1:
        return 'I2: two callers hold different ok answers'
    if s.row and oks:
        e = get(s.ends, s.row[0])
        if isinstance(e, int) and e not in oks:
            return 'I2: the ledger replays another result than the one answered'
    for ref, _ in runs:
        if not idem and get(s.ends, ref) == 'NOTHING':
            return 'I3: a ref that was released has run'
    for f, p in (('f1', s.p1), ('f2', s.p2)):
        if p[2] == 'nothing' and any(f in w for _, w in runs):
            return 'I3: "nothing run" was said of a forward that ran'


def after(labels: list[str], rules: set[str], idempotent: bool, resume: bool) -> S:
    """The state that these steps lead to."""
    state = init()
    for label in labels:
        state = dict(succ(state, rules, idempotent, resume))[label]
    return state


def check(
    rules: set[str], idempotent: bool, resume: bool, begun: tuple[str, ...] = (), **limits
) -> Found:
    """`resume`: the device answers a request id that it is asked again, and never runs it twice.
    `begun`: steps from whose end on is searched."""
    return search(
        after(begun, rules, idempotent, resume),
        lambda state: succ(state, rules, idempotent, resume),
        lambda state: bad(state, idempotent, resume),
        **limits,
    )


# What has to hold, and what has to fail: rules, whether the tool is idempotent, resume.
SOUND = [(RULES, False, False), (RULES, True, False), (RULES, False, True), (RULES, True, True)]
# 'inc' is missing: with 'own' nothing here needs it. home_model.py fails without it.
UNSOUND = [
    (RULES - {'seal'}, True, False),
    (RULES - {'lock'}, False, True),
    (RULES - {'each'}, False, False),
    (RULES - {'doubt'}, False, False),
    (RULES - {'own'}, False, True),
    (RULES - {'kept'}, False, True),
    (RULES - {'fence'}, False, True),
    (RULES - {'once'}, False, True),
]

if __name__ == '__main__':
    for run in SOUND + UNSOUND:
        print(f'== owner runs: rules={sorted(run[0])} idempotent={run[1]} resume={run[2]}')
        print(check(*run).text(), flush=True)
