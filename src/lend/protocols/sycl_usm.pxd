from lend._core.owners cimport Owner
from lend._core.record cimport Record

cdef dict give(Owner owner, Record* record, object shown)
