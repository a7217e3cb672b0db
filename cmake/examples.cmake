# The examples: examples/NAME.c with the library alone; examples/NAME.cu, when nvcc is found, with the CUDA runtime too.
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c)
file(GLOB example_kernels CONFIGURE_DEPENDS examples/*.cu)
set(example_folder ${PROJECT_BINARY_DIR}/examples)
foreach(source ${example_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    target_link_libraries(example_${name} PRIVATE cohort_flags cohort)
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
