create table new_run (
    number integer primary key,
    run text not null unique,
    workflow text not null,
    fingerprint text not null,
    created integer not null,
    epoch integer not null,
    status text not null,
    source text not null,
    sum text not null
) strict;

-- The number of the run in the high half, that of the event in the low one: what is appended lies at the end.
create table new_event (
    id integer primary key,
    cause text not null,
    type text not null,
    body text not null,
    prev text not null,
    hash text not null
) strict;

create table new_letter (
    number integer primary key autoincrement,
    run text not null references new_run (run),
    name text not null,
    body text not null,
    reply text,
    sum text not null,
    unique (run, name)
) strict;

create view head as
select
    number,
    run,
    workflow,
    fingerprint,
    created,
    epoch,
    coalesce(last.id & 0xffffffff, 0) as last_seq,
    coalesce(last.hash, '0000000000000000000000000000000000000000000000000000000000000000') as last_hash,
    status,
    source
from new_run
left join new_event as last on last.id = (
    select id from new_event
    where id between number << 32 and (number << 32) + 0xffffffff
    order by id desc
    limit 1
);
