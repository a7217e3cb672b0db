/* cohort/device/lines_end.h: forgets the parameters of an instance. */
#undef CO_LINES_SUFFIX
#undef CO_LINES_KEY
#undef CO_LINES_KEY_BITS
#undef CO_LINES_VALUE
#undef CO_LINES_VALUE_BITS
#undef CO_LINES_SLOTS
#undef CO_LINES_NEAR
#undef CO_LINES_FAR
#undef CO_LINES_HOME
