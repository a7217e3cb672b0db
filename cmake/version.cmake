# COHORT_VERSION, read from the public header, which is the one place that states it.
set(COHORT_VERSION "")
foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/include/cohort/context.h line
         REGEX "^#define COHORT_VERSION_${part} +[0-9]+$")
    string(REGEX REPLACE "^.* " "" number "${line}")
    list(APPEND COHORT_VERSION ${number})
endforeach()
list(JOIN COHORT_VERSION "." COHORT_VERSION)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS include/cohort/context.h)
