"""One document to typed records: fields, scalars, which keys belong to which verb."""
