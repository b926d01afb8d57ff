create table trigger_event (
    file text not null,
    trigger text not null,
    id text not null,
    at integer not null,
    body text not null,
    state text not null,
    run text,
    reason text not null,
    sum text not null,
    primary key (file, trigger, id)
) strict, without rowid;

create index trigger_event_at on trigger_event (at);

create table trigger_mark (
    file text not null,
    trigger text not null,
    mark text not null,
    sum text not null,
    primary key (file, trigger)
) strict, without rowid;
