"""The part of Strawberry that operations need to declare and read arguments.

`Id` is the scalar of IDs. `UNSET` is the value of an argument or an input field that the caller has omitted, which
differs from null.
"""

import strawberry

Id = strawberry.ID
UNSET = strawberry.UNSET
