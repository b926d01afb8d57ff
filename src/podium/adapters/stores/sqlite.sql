create table run (
    run text primary key,
    workflow text not null,
    fingerprint text not null,
    created integer not null,
    epoch integer not null,
    last_seq integer not null,
    last_hash text not null,
    status text not null,
    source text not null
) strict;

create table event (
    run text not null references run (run),
    seq integer not null,
    cause text not null,
    type text not null,
    body text not null,
    prev text not null,
    hash text not null,
    primary key (run, seq)
) strict, without rowid;

create table letter (
    number integer primary key autoincrement,
    run text not null references run (run),
    name text not null,
    body text not null,
    reply text,
    unique (run, name)
) strict;
