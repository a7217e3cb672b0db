# The examples: examples/NAME.c with the library alone; examples/NAME.cu, when nvcc is found, with the CUDA
# runtime too. examples/NAME/*.c are further parts of NAME, and so are examples/NAME/*.cu when nvcc is
# found: NAME_CUDA is then defined.
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c)
file(GLOB example_kernels CONFIGURE_DEPENDS examples/*.cu)
set(example_folder ${PROJECT_BINARY_DIR}/examples)
set(example_cuda OFF)
if(COHORT_NVCC AND NOT COHORT_SANITIZE AND NOT COHORT_FUZZ)
    get_filename_component(toolkit ${COHORT_NVCC} REALPATH)
    get_filename_component(toolkit ${toolkit}/../.. ABSOLUTE)
    find_library(COHORT_CUDART cudart_static PATHS ${toolkit}/lib64 ${toolkit}/lib NO_DEFAULT_PATH)
    mark_as_advanced(COHORT_CUDART)
    set(example_cuda ${COHORT_CUDART})
endif()

# example_parts NAME: what of examples/NAME/*.cu goes into it.
function(example_parts name)
    file(GLOB parts CONFIGURE_DEPENDS examples/${name}/*.cu)
    if(NOT parts OR NOT example_cuda)
        return()
    endif()
    string(TOUPPER ${name} defined)
    foreach(source ${parts})
        get_filename_component(part ${source} NAME_WE)
        set(object ${PROJECT_BINARY_DIR}/examples/${name}_${part}.o)
        add_custom_command(
            OUTPUT ${object}
            COMMAND ${COHORT_KEEPING} ${COHORT_NVCC} -std=c++17 -O3 -allow-unsupported-compiler ${COHORT_NVCC_FLAGS}
                    -I ${PROJECT_SOURCE_DIR}/include -MD -MF ${object}.d -MT ${object} -c -o ${object} ${source}
            DEPENDS ${source}
            DEPFILE ${object}.d
            COMMENT "Compiling examples/${name}/${part}.cu"
            VERBATIM)
        target_sources(example_${name} PRIVATE ${object})
        set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    endforeach()
    target_compile_definitions(example_${name} PRIVATE ${defined}_CUDA)
    target_link_libraries(example_${name} PRIVATE ${COHORT_CUDART} stdc++ ${CMAKE_DL_LIBS} rt)
endfunction()

find_path(csv_include csv.h)
find_library(csv_library csv)
mark_as_advanced(csv_include csv_library)

file(MAKE_DIRECTORY ${example_folder})
foreach(source ${example_sources})
    get_filename_component(name ${source} NAME_WE)
    if(name STREQUAL "join" AND NOT (csv_include AND csv_library))
        message(STATUS "Examples: libcsv not found, the join is not built (Debian: libcsv-dev)")
        file(REMOVE ${example_folder}/join)
        continue()
    endif()
    file(GLOB parts CONFIGURE_DEPENDS examples/${name}/*.c)
    add_executable(example_${name} ${source} ${parts})
    example_parts(${name})
    target_link_libraries(example_${name} PRIVATE cohort_flags cohort Threads::Threads)
    if(name STREQUAL "join")
        target_include_directories(example_join SYSTEM PRIVATE ${csv_include})
        target_link_libraries(example_join PRIVATE ${csv_library})
    endif()
    set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${example_folder})
endforeach()
if(COHORT_NVCC AND example_kernels AND NOT COHORT_SANITIZE AND NOT COHORT_FUZZ)
    set(example_programs "")
    file(MAKE_DIRECTORY ${example_folder})
    foreach(source ${example_kernels})
        get_filename_component(name ${source} NAME_WE)
        set(program ${example_folder}/${name})
        add_custom_command(
            OUTPUT ${program}
            COMMAND ${COHORT_NVCC} -std=c++17 -O3 -allow-unsupported-compiler ${COHORT_NVCC_FLAGS}
                    -I ${PROJECT_SOURCE_DIR}/include -MD -MF ${program}.d -MT ${program} -o ${program} ${source}
                    -Xcompiler -mcx16 -Xlinker -rpath=\$ORIGIN/.. -L ${PROJECT_BINARY_DIR} -lcohort
            DEPENDS ${source} cohort
            DEPFILE ${program}.d
            COMMENT "Compiling the example ${name}.cu"
            VERBATIM)
        list(APPEND example_programs ${program})
    endforeach()
    add_custom_target(cohort_cuda_examples ALL DEPENDS ${example_programs})
endif()
