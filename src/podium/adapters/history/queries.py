"""The questions to the history, in SQL. All take the same filter; weeks are counted from a Monday."""

# Values are always parameters: what is put into these texts is written in this module.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FILTER: Final = (
    "r.started >= :since and r.started < :until and (:workflow is null or r.workflow = :workflow) "
    "and (:project is null or r.project = (select no from project where id = :project)) "
    "and (:played = 1 or r.played = 0)"
)
NO_TRIAL: Final = "not exists (select 1 from trial t where t.run = r.no)"
"""A trial of an experiment repeats a case; it is not one more iteration of a subject."""
GROUPS: Final[Mapping[str, str]] = {
    "agent": "coalesce({0}.agent, '-')",
    "model": "coalesce({0}.model, '-')",
    "role": "coalesce({0}.role, '-')",
    "step": "r.workflow || ': ' || {0}.step",
    "craft": "{0}.craft",
}
"""What visits and attempts are grouped by."""
_WEEK: Final = "({0} / 86400000 + 3) / 7"
_VISITS: Final = f"from visit v join run r on r.no = v.run where v.kind in ('agent', 'judge') and {FILTER}"
_ATTEMPTS: Final = f"from attempt a join run r on r.no = a.run where a.reused = 0 and {FILTER}"
_NEWEST: Final = "(select run from run where no = newest)"
_CLUSTERS: Final = "sum(s), sum(n), sum(s * s), sum(n * n), sum(s * n), count(*)"

_PRICED: Final = (
    "coalesce(sum(s) filter (where unknown = 0), 0), sum(unknown = 0), "
    "coalesce(sum(s * s) filter (where unknown = 0), 0), sum(unknown = 0), "
    "coalesce(sum(s) filter (where unknown = 0), 0), sum(unknown = 0)"
)
"""The sums over runs in which the price of each call is known."""


def _grouped() -> dict[str, str]:
    queries = {}
    for name, text in GROUPS.items():
        visit, attempt = text.format("v"), text.format("a")
        queries[f"visits by {name}"] = (
            f"select {visit}, count(v.stood), coalesce(sum(v.stood), 0), count(*), median(v.work_ms), "
            f"median(case when v.unknown_calls = 0 then v.usd end), avg(v.retries), sum(v.unknown_calls), sum(v.usd) "
            f"{_VISITS} group by 1 order by 4 desc, 1"
        )
        queries[f"weeks by {name}"] = (
            f"select {visit}, {_WEEK.format('v.entered')}, count(v.stood), coalesce(sum(v.stood), 0) {_VISITS} "
            "and v.stood is not null group by 1, 2"
        )
        queries[f"costs by {name}"] = (
            f"select name, {_PRICED}, sum(calls), sum(tokens), sum(unknown), sum(attempts), sum(s) from (select {attempt} as name, "
            "sum(a.usd) as s,  sum(a.calls) as calls, sum(a.tokens) as tokens, sum(a.unknown_calls) as unknown, "
            f"count(*) as attempts {_ATTEMPTS} group by 1, a.run) group by 1 order by 12 desc, 1"
        )
    return queries


QUERIES: Final[Mapping[str, str]] = {
    **_grouped(),
    "population": (
        "select count(*), count(distinct r.workflow), count(distinct r.fingerprint), coalesce(sum(r.landed), 0), "
        "coalesce(sum(r.usd), 0), coalesce(sum(r.unknown_calls), 0), coalesce(sum(r.tokens), 0), "
        "coalesce(sum(r.calls), 0), coalesce(sum(r.ended is null), 0), coalesce(sum(r.status = 'passed'), 0), "
        "coalesce(sum(r.usd) filter (where r.unknown_calls = 0), 0), coalesce(sum(r.unknown_calls = 0), 0) "
        f"from run r where {FILTER}"
    ),
    "played": (
        "select count(*) from run r where r.started >= :since and r.started < :until "
        "and (:workflow is null or r.workflow = :workflow) "
        "and (:project is null or r.project = (select no from project where id = :project)) and r.played = 1"
    ),
    "crafts": (
        "select v.craft, coalesce(v.agent, '-'), count(v.stood), coalesce(sum(v.stood), 0), sum(v.usd), "
        f"sum(v.unknown_calls), count(*) {_VISITS} group by 1, 2 order by 1, 2"
    ),
    "scores": (
        f"select agent, {_CLUSTERS}, sum(n) from (select coalesce(d.of_agent, '-') as agent, sum(d.score) as s, "
        f"count(d.score) as n from verdict d join run r on r.no = d.run where d.score is not null and {FILTER} "
        "group by 1, d.run) group by 1 order by 1"
    ),
    "parts": (
        "select coalesce(d.of_agent, '-'), p.name, avg(p.value), count(*) from score p "
        "join verdict d on d.run = p.run and d.path = p.path and d.attempt = p.attempt "
        f"join run r on r.no = d.run where {FILTER} group by 1, 2 order by 1, 2"
    ),
    "scores by week": (
        f"select coalesce(d.of_agent, '-'), {_WEEK.format('d.given_at')}, avg(d.score), count(*) "
        f"from verdict d join run r on r.no = d.run where d.score is not null and {FILTER} group by 1, 2"
    ),
    "scores by run": (
        "select r.run, r.started, d.of_agent, avg(d.score), count(*) from verdict d join run r on r.no = d.run "
        f"where d.score is not null and d.of_agent = :name and {FILTER} group by r.no order by r.started"
    ),
    "weekly": (
        f"select {_WEEK.format('r.started')}, count(*), sum(r.status = 'passed'), sum(r.landed), avg(r.score), "
        "count(r.score), sum(r.usd), sum(r.unknown_calls), sum(r.tokens), "
        "coalesce(sum(r.usd) filter (where r.unknown_calls = 0), 0), sum(r.unknown_calls = 0) "
        f"from run r where {FILTER} group by 1 order by 1"
    ),
    "subject": (
        "select r.run, r.started, r.score, r.usd, r.unknown_calls, r.note, r.fingerprint, r.inputs, r.continues, r.status, "
        "(select group_concat(w, ', ') from (select distinct v.step || ' ' || v.agent || coalesce(' ' || v.model, '') as w "
        "from visit v where v.run = r.no and v.agent is not null order by 1)) "
        f"from run r where r.subject = :name and {NO_TRIAL} and {FILTER} order by r.started, r.no"
    ),
    "past runs": (
        f"select r.usd, r.unknown_calls, r.ended - r.started from run r where r.ended is not null and r.calls > 0 and {FILTER} "
        "order by r.started desc, r.no desc limit :most"
    ),
    "past scores": (
        "select agent, avg(score), count(*) from (select d.of_agent as agent, avg(d.score) as score, "
        "row_number() over (partition by d.of_agent order by r.started desc, r.no desc) as place "
        "from verdict d join run r on r.no = d.run where d.score is not null and d.of_agent is not null "
        f"and {FILTER} group by d.of_agent, r.no) where place <= :most group by 1 order by 1"
    ),
    "choice samples": (
        "select v.agent, v.model, v.stood, v.usd, v.unknown_calls from visit v join run r on r.no = v.run "
        "where v.craft = :craft and v.role is :role and v.ended is not null and v.agent is not null "
        "and v.entered >= :since and v.entered < :until and r.played = 0 "
        "and (:role is not null or (r.workflow = :workflow and v.step = :step)) "
        "and (:project is null or r.project = (select no from project where id = :project)) "
        "order by v.entered desc, r.no desc, v.path desc limit :most"
    ),
    "choices": (
        "select c.path, c.policy, c.chosen, c.standard, c.chance, r.run, r.workflow, r.started, "
        "(select min(v.stood) from visit v where v.run = r.no and v.step = c.path) "
        f"from choice c join run r on r.no = c.run where {FILTER} order by r.started desc, r.no desc limit 50"
    ),
    "runs by status": f"select r.workflow, r.status, count(*) from run r where {FILTER} group by 1, 2 order by 1, 2",
    "attempts by kind": (
        "select coalesce(a.agent, '-'), coalesce(a.role, '-'), coalesce(a.category, a.kind, 'open'), count(*) "
        f"{_ATTEMPTS} group by 1, 2, 3 order by 1, 2, 3"
    ),
    "cost by agent": (
        "select coalesce(a.agent, '-'), coalesce(a.model, '-'), sum(a.usd) / 1000000.0 "
        f"{_ATTEMPTS} group by 1, 2 order by 1, 2"
    ),
    "unknown by agent": (
        "select coalesce(a.agent, '-'), coalesce(a.model, '-'), sum(a.unknown_calls) "
        f"{_ATTEMPTS} group by 1, 2 order by 1, 2"
    ),
    "tokens by type": " union all ".join(
        f"select coalesce(a.agent, '-'), coalesce(a.model, '-'), '{kind}', sum(a.tok_{column}) {_ATTEMPTS} "
        f"and a.tok_{column} is not null group by 1, 2"
        for kind, column in (("input", "in"), ("output", "out"), ("cached", "cached"))
    ),
    "run times": (
        f"select r.workflow, r.ended - r.started from run r where r.ended is not null and {FILTER} order by 1"
    ),
    "reviewers": (
        "select reviewer, agent, model, count(*), sum(approved), sum(findings), "
        "coalesce(sum(approved) filter (where good = 1), 0), coalesce(sum(good = 1), 0), "
        "coalesce(sum(1 - approved) filter (where good = 0), 0), coalesce(sum(good = 0), 0) from ("
        "select d.reviewer as reviewer, coalesce(d.agent, '-') as agent, coalesce(d.model, '-') as model, "
        "d.decision = 'approve' as approved, d.findings as findings, coalesce("
        "(select min(l.good) from label l where l.project = r.project and l.tree = d.tree), "
        "(select max(w.action = 'approve') from answer w where w.run = d.run and w.tree = d.tree "
        "and w.given_at > d.given_at and w.action in ('approve', 'reject')), "
        "(select min(g.passed) from gate g where g.run = d.run and g.tree = d.tree and g.kind = 'command' "
        "and g.started >= d.given_at)) as good "
        f"from verdict d join run r on r.no = d.run where {FILTER}) group by 1, 2, 3 order by 4 desc, 1, 2"
    ),
    "landed trees": (
        "select r.run, r.tree from run r join project p on p.no = r.project "
        "where p.id = :project and r.landed and r.tree is not null order by r.started desc limit :most"
    ),
    "past iterations": (
        f"select r.run, r.continues, r.score from run r where r.subject = :name and {NO_TRIAL} and {FILTER} "
        "order by r.started, r.no"
    ),
    "subjects": (
        "select r.workflow, r.subject, count(*) from run r where r.subject is not null "
        f"and {NO_TRIAL} and {FILTER} group by 1, 2 order by max(r.started) desc limit 20"
    ),
    "errors": (
        f"select role, agent, category, n, {_NEWEST} from (select coalesce(a.role, '-') as role, "
        "coalesce(a.agent, '-') as agent, a.category as category, count(*) as n, max(r.no) as newest "
        f"{_ATTEMPTS} and a.category is not null group by 1, 2, 3) order by n desc, role, agent, category"
    ),
    "attempts": (
        f"select coalesce(a.role, '-'), coalesce(a.agent, '-'), count(*), count(distinct a.run) {_ATTEMPTS} group by 1, 2"
    ),
    "context": (
        "select coalesce(a.role, '-'), coalesce(a.agent, '-'), count(*), median(1.0 * a.ctx_used / a.ctx_window), "
        "percentile(1.0 * a.ctx_used / a.ctx_window, 95), sum(a.ctx_used >= 0.6 * a.ctx_window), "
        "sum(a.ctx_used >= 0.8 * a.ctx_window), sum(a.ctx_used >= 0.9 * a.ctx_window), count(distinct a.run) "
        f"{_ATTEMPTS} and a.ctx_used is not null and a.ctx_window > 0 group by 1, 2 order by 3 desc, 1, 2"
    ),
    "runs": (
        "select r.run, r.workflow, r.started, r.status, r.score, r.usd, r.unknown_calls, r.work_ms, r.landed, r.subject "
        f"from run r where {FILTER} order by r.started desc, r.no desc limit 50"
    ),
    "first gates": (
        f"select name, gate, n, failed, {_NEWEST} from (select r.workflow || ': ' || a.step as name, g.name as gate, "
        "count(*) as n, sum(1 - g.passed) as failed, max(r.no) as newest "
        "from gate g join attempt a on a.run = g.run and a.path = g.of_path and a.attempt = g.of_attempt "
        f"join run r on r.no = g.run where g.of_attempt = 1 and g.passed is not null and {FILTER} group by 1, 2)"
    ),
    "gates": (
        f"select name, n, failed, {_NEWEST} from (select g.name as name, count(*) as n, sum(1 - g.passed) as failed, "
        f"max(r.no) as newest from gate g join run r on r.no = g.run where g.passed is not null and {FILTER} group by 1)"
    ),
    "retries": (
        "select name, s1, n1, ss, nn, sn, runs, "
        f"{_NEWEST} from (select name, sum(s) as s1, sum(n) as n1, sum(s * s) as ss, sum(n * n) as nn, sum(s * n) as sn, "
        "count(*) as runs, max(no) as newest from (select r.workflow || ': ' || v.step as name, "
        f"r.no as no, sum(v.retries) as s, count(*) as n {_VISITS} group by 1, r.no) group by 1)"
    ),
    "quick answers": (
        f"select who, n, quick, {_NEWEST} from (select coalesce(w.who, '-') as who, count(*) as n, "
        "sum(w.given_at - q.asked_at < 10000) as quick, max(r.no) as newest from answer w "
        "join question q on q.run = w.run and q.path = w.path join run r on r.no = w.run "
        f"where w.action = 'approve' and q.about = 'approval' and {FILTER} group by 1)"
    ),
}
