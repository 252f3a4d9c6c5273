#!/usr/bin/env python3
"""Searches all interleavings of the design that was given up: the node where a request came in (A)
runs the pipeline, the node that has the device's link (B) only writes, D gets a repeat of the key.

It is kept because its traces are the reason for what docs/decisions/0026 decides. Messages may be
delayed for ever (lost) and overtake each other; with `doubled` they may arrive twice. A lapse of a
lease always precedes the fence (ideal clocks); a pause is any interleaving between the look at the
lease and the write.

usage: home_model.py    all runs, complete: some minutes
"""
from collections import namedtuple

from search import Found, get, put, search

S = namedtuple(
    'S',
    'row ends node lease apc aatt ainc arun aans asked balive bboot bknow bst starts msgs dpc dans'
    ' datt bcrash acrash late',
)
# The rules that were found one after the other, each a switch.
RULES = {
    'seal',  # take-over and end compete for one INSERT keyed by the old ref; the loser reads it
    'inc',  # a ref is dispatched only under the incarnation that admitted it
    'hold',  # B refuses calls of a fenced incarnation; a take-over waits until B knows the fence
    'boot',  # "never" only from the process that the call was addressed to
    'relend',  # a release is an end too, never a DELETE
}


def init():
    return S(
        None,
        (),
        (1, 'live'),
        True,
        'idle',
        0,
        1,
        0,
        None,
        0,
        True,
        1,
        False,
        (),
        (),
        frozenset(),
        'idle',
        None,
        0,
        0,
        0,
        0,
    )


# long: every step that can follow is a line or two; they are read side by side
def succ(s, F, idem, dup):
    out = []

    def t(label, **kw):
        out.append((label, s._replace(**kw)))

    # ---- A
    live = s.node == (s.ainc, 'live')
    if s.apc == 'idle' and live and s.row is None:
        t('A commits admission (k,r1)', row=('r1', s.ainc), apc='adm', arun=s.ainc)
    may = s.lease and (s.ainc == s.arun or 'inc' not in F)
    if s.apc == 'adm':
        if may:
            t('A: lease is good', apc='chk')
    if s.apc == 'chk':
        t(
            f'A sends CALL(r1,{s.aatt+1})',
            apc='wait',
            aatt=s.aatt + 1,
            late=s.bboot,
            msgs=s.msgs | {('CALL', 'A%d' % s.arun, 'r1', s.aatt + 1, s.bboot)},
        )
    if s.apc == 'retry':
        if s.aatt < 2 and may:
            t('A retries: lease is good', apc='chk')
        # gives up: nothing ran; releases
        if 'relend' in F:
            if get(s.ends, 'r1') is None:
                t(
                    'A gives up: "nothing run", end(r1)=NOTHING',
                    apc='done',
                    aans='nothing',
                    ends=put(s.ends, 'r1', 'NOTHING'),
                )
            else:
                t(
                    'A gives up; end(r1) is there',
                    apc='done',
                    aans='nothing' if get(s.ends, 'r1') == 'NOTHING' else 'unknown',
                )
        else:
            t(
                'A gives up: "nothing run", deletes its row',
                apc='done',
                aans='nothing',
                row=None if s.row and s.row[0] == 'r1' else s.row,
            )
    if s.apc == 'wait' and s.asked < 2:
        t(
            f'A sends ASK(r1,{s.aatt})',
            asked=s.asked + 1,
            msgs=s.msgs | {('ASK', 'r1', s.aatt, s.late)},
        )
    if s.lease and s.apc not in ('dead',):
        t('A is cut off from PG or paused: lease lapses', lease=False)
    if not s.lease and s.node == (s.ainc, 'live') and s.apc != 'dead':
        t('A renews in time', lease=True)
    if not s.lease and s.node[1] == 'live' and s.node[0] == 1:
        t('D fences A', node=(s.node[0], 'fenced'))
    if s.node == (1, 'fenced') and s.ainc == 1 and s.apc not in ('dead',):
        t('A comes back with incarnation 2', node=(2, 'live'), ainc=2, lease=True)
    if s.apc in ('adm', 'chk', 'wait', 'retry') and not s.acrash:
        t('A is killed', apc='dead', lease=False, acrash=1)
    # ---- B
    fenced1 = s.node != (1, 'live')
    if s.balive and fenced1 and not s.bknow:
        t('B reads: A(1) is fenced', bknow=True)
    if s.balive and not s.bcrash and s.bst:
        t('B is killed and starts again', bboot=2, bcrash=1, bst=(), bknow=False)
    for m in s.msgs:
        rest = s.msgs if dup else s.msgs - {m}
        if m[0] == 'CALL' and s.balive:
            _, home, ref, att, boot = m
            if get(s.bst, (ref, att)) is not None:
                continue
            if boot != s.bboot and 'boot' in F:
                t(
                    f'B: CALL({ref},{att}) is for another life: dropped, proves nothing',
                    msgs=rest,
                    bst=put(s.bst, (ref, att), 'tomb'),
                )
                continue
            if boot != s.bboot:
                t(
                    f'B: CALL({ref},{att}) is for another life: REFUSED',
                    msgs=rest | {('REF', ref, att)},
                    bst=put(s.bst, (ref, att), 'tomb'),
                )
                continue
            if 'hold' in F and home == 'A1' and s.bknow:
                t(
                    f'B: CALL({ref},{att}) of a fenced home: REFUSED',
                    msgs=rest | {('REF', ref, att)},
                    bst=put(s.bst, (ref, att), 'tomb'),
                )
                continue
            t(
                f'B takes CALL({ref},{att}), waits at the gate',
                msgs=rest,
                bst=put(s.bst, (ref, att), 'gate'),
            )
        if m[0] == 'ASK' and s.balive:
            _, ref, att, boot = m
            st = get(s.bst, (ref, att))
            if st is None:
                if 'boot' in F and boot != s.bboot:
                    t('B: ASK is for another life: gone', msgs=rest)
                    continue
                t(
                    f'B: ASK({ref},{att}): never, tombstone',
                    msgs=rest | {('STATE', ref, att, 'never')},
                    bst=put(s.bst, (ref, att), 'tomb'),
                )
        if m[0] in ('REF', 'STATE') and m[1] == 'r1' and s.apc == 'wait' and m[2] == s.aatt:
            t(f'A gets {m[0]}({m[1]},{m[2]}): surely not written', msgs=rest, apc='retry', asked=0)
        if m[0] in ('REF', 'STATE') and m[1] == 'r2' and s.dpc == 'wait':
            t('D gets REFUSED(r2)', msgs=rest, dpc='done', dans='nothing')
        if m[0] == 'RES' and m[1] == 'r1' and s.apc in ('wait',):
            old = get(s.ends, 'r1')
            if 'seal' in F and old is not None and old != m[2]:
                t(
                    f'A gets RESULT(r1)={m[2]}, end(r1) says {old}',
                    msgs=rest,
                    apc='done',
                    aans='unknown',
                )
            else:
                t(
                    f'A gets RESULT(r1)={m[2]}, commits end(r1), answers ok',
                    msgs=rest,
                    apc='done',
                    aans=m[2],
                    ends=s.ends if old is not None else put(s.ends, 'r1', m[2]),
                )
        if m[0] == 'RES' and m[1] == 'r2' and s.dpc == 'wait':
            old = get(s.ends, 'r2')
            t(
                f'D gets RESULT(r2)={m[2]}, commits end(r2), answers ok',
                msgs=rest,
                dpc='done',
                dans=m[2],
                ends=s.ends if old is not None else put(s.ends, 'r2', m[2]),
            )
    if s.balive:
        for (ref, att), st in s.bst:
            if st == 'gate':
                if ref == 'r1' and s.bknow and s.arun == 1:
                    if 'relend' in F:
                        e = get(s.ends, 'r1')
                        t(
                            'B: home is fenced, leaves the gate, end(r1)=NOTHING',
                            bst=put(s.bst, (ref, att), 'tomb'),
                            msgs=s.msgs | {('REF', ref, att)},
                            ends=put(s.ends, 'r1', 'NOTHING') if e is None else s.ends,
                        )
                    else:
                        t(
                            'B: home is fenced, leaves the gate, deletes the row',
                            bst=put(s.bst, (ref, att), 'tomb'),
                            msgs=s.msgs | {('REF', ref, att)},
                            row=None if s.row and s.row[0] == 'r1' else s.row,
                        )
                    if 'hold' in F:
                        continue
                if len(s.starts) < 3:
                    t(
                        f'B writes ({ref},{att}): the device starts run {len(s.starts)+1}',
                        bst=put(s.bst, (ref, att), 'written'),
                        starts=s.starts + ((ref, att),),
                    )
            if st == 'written':
                n = [i for i, x in enumerate(s.starts) if x == (ref, att)][-1] + 1
                t(
                    f'device answers run {n}; B sends RESULT({ref})',
                    bst=put(s.bst, (ref, att), ('ended', n)),
                    msgs=s.msgs | {('RES', ref, n)},
                )
            if (
                isinstance(st, tuple)
                and ref == 'r1'
                and s.bknow
                and s.arun == 1
                and get(s.ends, 'r1') is None
            ):
                t(
                    f'B: home is fenced: commits end(r1)={st[1]} itself',
                    ends=put(s.ends, 'r1', st[1]),
                )
    # ---- D: a repeat of the key
    if s.dpc in ('idle', 'look'):
        e = get(s.ends, s.row[0]) if s.row else None
        if (
            s.row is None
            and s.dpc == 'look'
            or (s.row is None and s.apc in ('done', 'dead', 'retry', 'wait'))
        ):
            t('D: repeat: no row: commits (k,r2)', row=('r2', 'D'), dpc='send')
        elif s.row and s.row[0] == 'r1':
            if e is not None and e not in ('NOTHING',):
                t(f'D: repeat: replays {e}', dpc='done', dans=e)
            elif e == 'NOTHING':
                t('D: repeat: end(r1)=NOTHING: takes the row, r2', row=('r2', 'D'), dpc='send')
            elif s.node != (s.row[1], 'live'):
                known = [st for (r, a), st in s.bst if r == 'r1' and st != 'tomb']
                if not idem:
                    t('D: repeat: open, A fenced: UNKNOWN', dpc='idle2', dans='unknown')
                elif 'hold' not in F or s.bknow or not s.balive:
                    # nobody says `written` within 2 s: nobody knows, or the message was lost
                    t(
                        'D: repeat: open, A fenced, nobody answers ASK: decides to take over',
                        dpc='take',
                    )
    if s.dpc == 'take':
        e = get(s.ends, 'r1')
        if s.row and s.row[0] == 'r1':
            if 'seal' in F:
                if e is None or e == 'NOTHING':
                    t(
                        'D takes over: end(r1)=SUPERSEDED, row r2',
                        row=('r2', 'D'),
                        ends=put(s.ends, 'r1', 'SUP'),
                        dpc='send',
                    )
                else:
                    t('D: lost to an end; looks again', dpc='look')
            else:
                t('D takes over: UPDATE row ref=r2 WHERE ref=r1', row=('r2', 'D'), dpc='send')
        elif s.row is None:
            t('D: looks again', dpc='look')
    if s.dpc == 'send':
        t('D sends CALL(r2,1)', dpc='wait', msgs=s.msgs | {('CALL', 'D', 'r2', 1, s.bboot)})
    return out


def bad(s, idem):
    if not idem and len(s.starts) > 1:
        return 'I1: a non-idempotent call ran twice'
    oks = {a for a in (s.aans, s.dans) if isinstance(a, int)}
    if len(oks) > 1:
        return 'I2: two callers hold different ok answers for one key'
    if s.row and oks:
        e = get(s.ends, s.row[0])
        if isinstance(e, int) and e not in oks:
            return 'I2: the ledger replays another result than the one answered'
    if s.aans == 'nothing' and any(r == 'r1' for r, _ in s.starts):
        return 'I3: "nothing run" was said of an attempt that runs'
    if s.dans == 'nothing' and any(r == 'r2' for r, _ in s.starts):
        return 'I3 (D)'


def check(rules: set[str], idempotent: bool, doubled: bool = False, **limits) -> Found:
    return search(
        init(),
        lambda state: succ(state, rules, idempotent, doubled),
        lambda state: bad(state, idempotent),
        **limits,
    )


# The four faults of the form without these rules, as the runs that find them.
UNSOUND = [
    (set(), False),
    (set(), True),
    ({'boot'}, False),
    ({'boot'}, True),
    ({'boot', 'relend'}, False),
]

if __name__ == '__main__':
    for run in UNSOUND + [(RULES, False), (RULES, True), (RULES, False, True), (RULES, True, True)]:
        print(f'== home runs: rules={sorted(run[0])} idempotent={run[1]} doubled={run[2:]}')
        print(check(*run).text(), flush=True)
