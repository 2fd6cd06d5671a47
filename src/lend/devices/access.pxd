"""What the host may touch, for the compiled files beside."""
from lend._core.driver cimport AccessFacts
from lend._core.owners cimport Owner
from lend._core.record cimport Record
from lend.views.lent cimport Lent

cdef bint can_be_copied(int row)
cdef int look(Lent lent, Owner owner, const Record* record, AccessFacts* facts) except -1
