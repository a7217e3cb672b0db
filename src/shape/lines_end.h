/* shape/lines_end.h: forgets the words of shape/lines_entry.h and the parameters of the instance. */
#undef CO_PASTE3_
#undef CO_PASTE3
#undef LINES
#undef KEY
#undef VALUE
#include "cohort/device/lines_end.h"
