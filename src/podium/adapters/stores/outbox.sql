create table message(
    number integer primary key,
    id text not null unique,
    run text not null,
    question text not null,
    channel text not null,
    kind text not null,
    at int not null,
    due int not null,
    title text not null,
    body text not null,
    data text not null,
    state text not null default 'queued',
    tries int not null default 0,
    batch text not null default '',
    changed int not null,
    reason text not null default ''
);
create index message_due on message(due) where state = 'queued';
create table seen(run text primary key, seq int not null) without rowid;
create table viewer(name text primary key, until int not null) without rowid;
