# The test programs, tests/STRUCTURE/test_*.c. Each is linked with what all share (tests/*.c: frame, oracle,
# schedules), with what its own folder has beside the programs, with libcohort_internal.a, and with the
# simulated GPU: tests/sim and all kernels compiled as C by the host's compiler. A new structure brings a
# folder and needs no line here. Each program runs once a device.
file(GLOB test_programs CONFIGURE_DEPENDS tests/*/test_*.c)
list(FILTER test_programs EXCLUDE REGEX "/tests/cli/")
file(GLOB test_support CONFIGURE_DEPENDS tests/*.c)
file(GLOB sim_sources CONFIGURE_DEPENDS tests/sim/*.c tests/sim/*.S)
list(FILTER sim_sources EXCLUDE REGEX "/test_[^/]*$")
file(GLOB test_kernels CONFIGURE_DEPENDS tests/*/*.cu)
set(test_includes tests tests/sim include src)

cohort_embed_fatbins(cohort_test_fatbins test_fatbins ${test_kernels})

# The simulator; the kernels are read as C (the property makes CMake say -x c).
add_library(cohort_sim OBJECT ${sim_sources} ${kernel_sources} ${test_kernels})
# Kernels inline deeply: each check at an access costs much compilation. Under the address sanitizer
# accesses are checked out of line, and what it finds by itself (null, too small an object) is not checked a
# second time. No test of the simulator runs under the thread sanitizer.
# A launch's time is the simulator's own, hardly the kernels': less optimisation compiles them in half the time.
set(kernel_options "$<$<CONFIG:Release>:-O1>")
if(COHORT_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(kernel_options "-fno-sanitize=null,object-size,pointer-overflow;--param=asan-instrumentation-with-call-threshold=0")
elseif(COHORT_SANITIZE STREQUAL "thread")
    set(kernel_options "-fno-sanitize=all")
endif()
set_source_files_properties(${kernel_sources} ${test_kernels} PROPERTIES LANGUAGE C COMPILE_OPTIONS "${kernel_options}")
target_compile_definitions(cohort_sim PRIVATE COHORT_SIM)
set_source_files_properties(tests/sim/jit.c PROPERTIES
    COMPILE_DEFINITIONS "SIM_FOLDER=\"${PROJECT_SOURCE_DIR}/tests/sim\"")
set_source_files_properties(tests/context/stand_in.c PROPERTIES
    COMPILE_DEFINITIONS "SOURCE_ROOT=\"${PROJECT_SOURCE_DIR}\"")
target_include_directories(cohort_sim PRIVATE ${test_includes})
target_link_libraries(cohort_sim PRIVATE cohort_flags)

# libcohort_sim.a, for tests/python: the library, the simulator and tests/python/sim.c, joined to one object
# as libcohort.a is.
set_target_properties(cohort_sim PROPERTIES POSITION_INDEPENDENT_CODE ON)
if(NOT COHORT_SANITIZE)
    add_library(cohort_sim_python OBJECT tests/python/sim.c)
    set_target_properties(cohort_sim_python PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(cohort_sim_python PRIVATE ${test_includes})
    target_link_libraries(cohort_sim_python PRIVATE cohort_flags)
    set(sim_parts cohort_objects cohort_sim cohort_sim_python)
    list(TRANSFORM sim_parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE sim_objects)
    set(sim_object ${PROJECT_BINARY_DIR}/cohort_sim.o)
    add_custom_command(
        OUTPUT ${sim_object}
        COMMAND ${CMAKE_LINKER} -r -o ${sim_object} ${sim_objects}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${sim_object}
        DEPENDS ${sim_parts} ${sim_objects}
        COMMENT "Joining the objects of libcohort_sim.a"
        COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties(${sim_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    add_library(cohort_sim_static STATIC ${sim_object})
    set_target_properties(cohort_sim_static PROPERTIES OUTPUT_NAME cohort_sim LINKER_LANGUAGE C)
endif()

add_library(cohort_test_support OBJECT ${test_support} ${test_fatbins})
target_include_directories(cohort_test_support PRIVATE ${test_includes})
target_link_libraries(cohort_test_support PRIVATE cohort_flags)

# cohort_test_folder(FOLDER OUT): OUT = the objects of what a folder's programs share, if there is something.
function(cohort_test_folder folder out)
    set(${out} "" PARENT_SCOPE)
    if(folder STREQUAL "sim")
        return() # it is in every program
    endif()
    file(GLOB sources CONFIGURE_DEPENDS tests/${folder}/*.c)
    list(FILTER sources EXCLUDE REGEX "/test_[^/]*$")
    if(NOT sources)
        return()
    endif()
    if(NOT TARGET cohort_test_${folder})
        add_library(cohort_test_${folder} OBJECT ${sources})
        target_include_directories(cohort_test_${folder} PRIVATE tests/${folder} ${test_includes})
        target_link_libraries(cohort_test_${folder} PRIVATE cohort_flags)
    endif()
    set(${out} $<TARGET_OBJECTS:cohort_test_${folder}> PARENT_SCOPE)
endfunction()

# The library for tests/refusals: what it asks libc for it asks the tests for, who may refuse it.
set(refusable malloc calloc realloc aligned_alloc strdup realpath free pthread_create open write fsync rename)
list(TRANSFORM refusable REPLACE "(.+)" "--redefine-sym=\\1=refusable_\\1" OUTPUT_VARIABLE refusable)
set(refusable_library ${PROJECT_BINARY_DIR}/libcohort_refusable.a)
add_custom_command(
    OUTPUT ${refusable_library}
    COMMAND ${CMAKE_OBJCOPY} ${refusable} $<TARGET_FILE:cohort_internal> ${refusable_library}
    DEPENDS cohort_internal
    COMMENT "Making the library that can be refused things"
    VERBATIM)
add_custom_target(cohort_refusable_file DEPENDS ${refusable_library})

foreach(source ${test_programs})
    get_filename_component(name ${source} NAME_WE)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    cohort_test_folder(${folder} shared)
    add_executable(${name} ${source} ${shared} $<TARGET_OBJECTS:cohort_test_support> $<TARGET_OBJECTS:cohort_sim>)
    target_include_directories(${name} PRIVATE tests/${folder} ${test_includes})
    if(folder STREQUAL "refusals")
        add_dependencies(${name} cohort_refusable_file)
        target_link_libraries(${name} PRIVATE cohort_flags ${refusable_library} Threads::Threads ${CMAKE_DL_LIBS} m)
    else()
        target_link_libraries(${name} PRIVATE cohort_flags cohort_internal m)
    endif()
    target_compile_definitions(${name} PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
        ENABLE_EXPORTS ON) # for what the simulated GPU compiles
endforeach()

# Keys of bytes that collide by design: of their hash two bits are left. NAME_colliding in ctest.
set(colliding keys keys_rows keys_text keys_wide texts_in join group group_sums group_calls)
foreach(name ${colliding})
    cohort_test_folder(table shared)
    add_executable(test_${name}_colliding tests/table/test_${name}.c src/cpu/keys_few.c src/cpu/keys_load.c
        src/cpu/keys_text.c ${shared}
        $<TARGET_OBJECTS:cohort_test_support> $<TARGET_OBJECTS:cohort_sim>)
    target_include_directories(test_${name}_colliding PRIVATE tests/table ${test_includes})
    target_compile_definitions(test_${name}_colliding PRIVATE KEYS_HASH_BITS=3 TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
    target_link_libraries(test_${name}_colliding PRIVATE cohort_flags cohort_internal m)
    set_target_properties(test_${name}_colliding PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
        ENABLE_EXPORTS ON)
endforeach()

# Programs of the tool's tests, tests/cli/NAME.c: each a main of its own, with the tool's parts at hand.
file(GLOB cli_programs CONFIGURE_DEPENDS tests/cli/*.c)
if(NOT ZLIB_FOUND)
    list(FILTER cli_programs EXCLUDE REGEX test_readers) # it makes gzip files
endif()
if(TARGET cohort_cli_parts)
    foreach(source ${cli_programs})
        get_filename_component(name ${source} NAME_WE)
        add_executable(cli_${name} ${source})
        target_link_libraries(cli_${name} PRIVATE cohort_flags cohort_cli_parts cohort)
        set_target_properties(cli_${name} PROPERTIES
            OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cli)
    endforeach()
endif()

# ---- what ctest runs ---------------------------------------------------------------------------------------------
# scripts/record.sh runs one program and leaves a line for the table of scripts/run-tests.sh in build/results.
set(record ${PROJECT_SOURCE_DIR}/scripts/record.sh ${PROJECT_BINARY_DIR}/results)
function(cohort_add_test name device seconds)
    add_test(NAME ${name}.${device} COMMAND ${record} ${seconds} ${name} ${device} ${ARGN}
             WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
    set_tests_properties(${name}.${device} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 3600)
endfunction()

# Of one program; sanitizers and a million schedules (scripts/test.sh --ci) take longer.
set(program_seconds 400)
if(COHORT_SANITIZE)
    set(program_seconds 1800)
endif()

# Device by device, so that taking every Nth test (PART=K/N) deals the long ones out evenly.
foreach(device sim:1 cuda cpu)
    string(REGEX REPLACE ":.*" "" label ${device})
    foreach(source ${test_programs})
        get_filename_component(program ${source} NAME_WE)
        get_filename_component(folder ${source} DIRECTORY)
        get_filename_component(folder ${folder} NAME)
        string(REGEX REPLACE "^test_" "" name ${program})
        cohort_add_test(${name} ${label} ${program_seconds} $<TARGET_FILE:${program}> --device ${device})
        set_property(TEST ${name}.${label} PROPERTY LABELS ${label} ${folder})
        set_property(TEST ${name}.${label} PROPERTY ENVIRONMENT COHORT_TEST_STRUCTURE=${folder})
        if(label STREQUAL "sim")
            set_property(TEST ${name}.sim PROPERTY COST 100) # the longest: first
        elseif(label STREQUAL "cpu" AND name MATCHES "^(map_cpu|map_ranges|multisplit|multisplit_cpu)$")
            set_property(TEST ${name}.cpu PROPERTY COST 50) # of the CPU's
        elseif(label STREQUAL "cuda")
            set_property(TEST ${name}.cuda PROPERTY RESOURCE_LOCK gpu) # its memory is not shared out
        endif()
    endforeach()
endforeach()
foreach(name ${colliding})
    cohort_add_test(${name}_colliding cpu ${program_seconds} $<TARGET_FILE:test_${name}_colliding> --device cpu --quick)
    set_property(TEST ${name}_colliding.cpu PROPERTY LABELS cpu table)
    set_property(TEST ${name}_colliding.cpu PROPERTY ENVIRONMENT COHORT_TEST_STRUCTURE=table)
endforeach()
# Before sm_90 pairs of 128 bits change by halves: what tests maps, on two such GPUs, with the widths that
# are such pairs.
foreach(architecture 80 86)
    foreach(width 64_32 64_64)
        foreach(name map map_full map_table map_build map_errors map_files map_fold)
            cohort_add_test(${name} sim${architecture}_${width} ${program_seconds} $<TARGET_FILE:test_${name}>
                --device sim:1,arch=${architecture} --filter ${width} --quick)
        endforeach()
        foreach(case api halves)
            cohort_add_test(schedules_${case} sim${architecture}_${width} ${program_seconds} $<TARGET_FILE:test_schedules>
                --device sim:1,arch=${architecture} --filter ${case}/${width})
        endforeach()
    endforeach()
endforeach()
foreach(suite structure cli examples python)
    if(COHORT_SANITIZE AND suite STREQUAL "structure")
        continue() # it judges what is installed, and no sanitizer's run time is
    endif()
    file(GLOB script CONFIGURE_DEPENDS tests/${suite}/run.sh)
    if(script)
        cohort_add_test(${suite} host 600 bash ${script} ${PROJECT_BINARY_DIR})
        set_property(TEST ${suite}.host PROPERTY LABELS host)
        set_property(TEST ${suite}.host PROPERTY COST 200) # one process each: beside all others, and not after them
    endif()
endforeach()
