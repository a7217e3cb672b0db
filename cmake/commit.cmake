# cmake -D source=DIR -D commit=TEXT -D to=FILE.c -P commit.cmake
#
# Writes the commit of the sources into a line of C: COMMIT if it is given (sources without git), else what
# git says, else "unknown". The file is left alone if it says so already, so that nothing is built anew.
cmake_minimum_required(VERSION 3.25)
if(NOT commit)
    find_program(git git)
    if(git)
        execute_process(COMMAND ${git} -C ${source} describe --always --dirty --abbrev=12 --exclude=*
                        OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
endif()
if(NOT commit)
    set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${to} CONTENT "extern const char cohort_commit[];\nconst char cohort_commit[] = \"@commit@\";\n" @ONLY)
