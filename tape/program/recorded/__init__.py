"""A recorded list: while it grows, and as flat columns once it is finished."""
