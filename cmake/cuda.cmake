# GPU kernels: compiled by `nvcc -fatbin`, one fatbin a .cu file, and embedded by .incbin. CMake's own CUDA
# language is not used: nothing is linked against CUDA, so a compiler for the device is all that is needed.
#
#   cohort_embed_fatbins(TABLE OUT SOURCE...)
#
# sets OUT to sources that define `const struct cohort_fatbin TABLE[]` (name, data, size; ended by a NULL
# name), with an entry for each .cu file. Without nvcc the table is empty.

# ---- the compiler ------------------------------------------------------------------------------------------------
set(COHORT_NVCC "")
if(COHORT_CUDA AND NOT COHORT_CUDA STREQUAL "LATER")
    find_program(COHORT_NVCC_PROGRAM NAMES $ENV{CUDACXX} nvcc PATHS /usr/local/cuda/bin /opt/cuda/bin)
    mark_as_advanced(COHORT_NVCC_PROGRAM)
    if(COHORT_NVCC_PROGRAM)
        set(COHORT_NVCC ${COHORT_NVCC_PROGRAM})
    endif()
endif()

# COHORT_CUDA_ARCHS:
#   all    machine code for the architectures that this nvcc knows of sm_80, sm_90, sm_100, sm_120, and PTX for compute_90, from which a
#          driver makes code for all that comes between and after
#   auto   machine code for the GPUs of this machine; where there is none, for sm_90, with its PTX
set(COHORT_NVCC_FLAGS "")
if(COHORT_NVCC)
    set(archs ${COHORT_CUDA_ARCHS})
    if(archs STREQUAL "auto")
        execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/gpu-archs.sh ${COHORT_NVCC} OUTPUT_VARIABLE archs ERROR_QUIET)
        string(REGEX REPLACE "[ \n]+" ";" archs "${archs}")
        list(REMOVE_ITEM archs "")
        if(NOT archs)
            set(archs sm_90 compute_90)
        endif()
    elseif(archs STREQUAL "all")
        execute_process(COMMAND ${COHORT_NVCC} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
        string(REGEX REPLACE "[ \n]+" ";" known "${known}")
        set(archs "")
        foreach(arch sm_80 sm_90 compute_90 sm_100 sm_120)
            string(REPLACE compute_ sm_ code ${arch})
            if(code IN_LIST known)
                list(APPEND archs ${arch})
            endif()
        endforeach()
    endif()
    foreach(arch ${archs})
        if(NOT arch MATCHES "^(sm|compute)_[0-9]+[a-z]?$")
            message(FATAL_ERROR "COHORT_CUDA_ARCHS: '${arch}' is none of all, auto, sm_NN, compute_NN")
        endif()
        string(REPLACE sm_ compute_ virtual ${arch})
        list(APPEND COHORT_NVCC_FLAGS -gencode arch=${virtual},code=${arch})
    endforeach()
    list(JOIN archs " " listed)
    message(STATUS "CUDA: ${COHORT_NVCC}, kernels for ${listed}")
elseif(COHORT_CUDA STREQUAL "LATER")
    message(STATUS "CUDA: not yet, the CPU library alone")
elseif(COHORT_CUDA)
    message(STATUS "CUDA: nvcc not found, the CPU library alone")
else()
    message(STATUS "CUDA: switched off, the CPU library alone")
endif()

# ---- one fatbin --------------------------------------------------------------------------------------------------
# Only the preprocessor of the host's compiler is used, so a newer one than nvcc has been tested with will
# do. scripts/nvcc.sh keeps what was compiled; with line numbers it would keep the folder's name too.
set(COHORT_KEEPING ${PROJECT_SOURCE_DIR}/scripts/nvcc.sh)
if(COHORT_LINEINFO)
    set(COHORT_KEEPING ${CMAKE_COMMAND} -E env COHORT_KEEP=no ${COHORT_KEEPING})
endif()
function(cohort_add_fatbin source fatbin)
    file(RELATIVE_PATH shown ${PROJECT_SOURCE_DIR} ${source})
    add_custom_command(
        OUTPUT ${fatbin}
        COMMAND ${COHORT_KEEPING} ${COHORT_NVCC} -fatbin -std=c++17 -O3 --threads 2 -Xfatbin=-compress-all -allow-unsupported-compiler ${COHORT_NVCC_FLAGS}
                $<$<BOOL:${COHORT_WERROR}>:-Werror=all-warnings> $<$<BOOL:${COHORT_LINEINFO}>:-lineinfo>
                -I ${PROJECT_SOURCE_DIR}/include -I ${PROJECT_SOURCE_DIR}/src
                -MD -MF ${fatbin}.d -MT ${fatbin} -o ${fatbin} ${source}
        DEPENDS ${source}
        DEPFILE ${fatbin}.d
        COMMENT "Compiling ${shown} for the GPU"
        COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

function(cohort_embed_fatbins table out)
    set(folder ${PROJECT_BINARY_DIR}/${table})
    set(sources ${folder}/fatbins.c)
    set(declarations "")
    set(entries "")
    if(COHORT_NVCC)
        foreach(source ${ARGN})
            get_filename_component(name ${source} NAME_WE)
            set(fatbin ${folder}/${name}.fatbin)
            set(symbol ${table}_${name})
            string(REGEX REPLACE "s_${name}$" "_${name}" symbol ${symbol}) # cohort_fatbins -> cohort_fatbin_map
            cohort_add_fatbin(${source} ${fatbin})
            configure_file(${PROJECT_SOURCE_DIR}/cmake/fatbin.S.in ${folder}/${name}.S @ONLY)
            set_property(SOURCE ${folder}/${name}.S APPEND PROPERTY OBJECT_DEPENDS ${fatbin})
            list(APPEND sources ${folder}/${name}.S)
            string(APPEND declarations
                "extern const unsigned char ${symbol}[];\nextern const uint64_t ${symbol}_size;\n")
            string(APPEND entries "    {\"${name}\", ${symbol}, &${symbol}_size},\n")
        endforeach()
    endif()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/fatbins.c.in ${folder}/fatbins.c @ONLY)
    set(${out} ${sources} PARENT_SCOPE)
endfunction()
