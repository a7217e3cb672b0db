# The peers' programs of the bench, bench/peers/peer_NAME.cpp and .cu, in build/peers: C++ that calls other
# people's maps, sorts and splits. Each is built if what it needs is here; none is part of the library or
# installed. Those for a GPU need nvcc and the headers of its toolkit and take a minute, so they are left to
# the target `peers`, which `make` builds too; `cpu_peers` are the others, all that `make demo` measures
# beside the map.
add_custom_target(peers)
add_custom_target(cpu_peers)
if(COHORT_NVCC AND NOT COHORT_SANITIZE AND NOT COHORT_FUZZ)
    file(GLOB peer_kernels CONFIGURE_DEPENDS bench/peers/peer_*.cu)
    get_filename_component(toolkit ${COHORT_NVCC} REALPATH)
    get_filename_component(toolkit ${toolkit}/../.. ABSOLUTE)
    find_path(cub_include cub/cub.cuh PATHS ${toolkit}/include ${toolkit}/include/cccl NO_DEFAULT_PATH)
    mark_as_advanced(cub_include)
    set(peer_flags ${COHORT_NVCC_FLAGS})
    if(COHORT_CUDA_ARCHS STREQUAL "all") # CUB for five architectures takes minutes; later ones make code from PTX
        set(peer_flags -gencode "arch=compute_90,code=[sm_90,compute_90]")
    endif()
    foreach(source ${peer_kernels})
        get_filename_component(name ${source} NAME_WE)
        file(STRINGS ${source} cub_needed REGEX "include <cub/" LIMIT_COUNT 1)
        if(cub_needed AND NOT cub_include)
            message(STATUS "Bench: ${name} is left out (no CUB beside ${COHORT_NVCC})")
            continue()
        endif()
        set(program ${PROJECT_BINARY_DIR}/peers/${name})
        file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/peers)
        add_custom_command(
            OUTPUT ${program}
            COMMAND ${COHORT_NVCC} -std=c++17 -O3 -allow-unsupported-compiler ${peer_flags}
                    -MD -MF ${program}.d -MT ${program} -o ${program} ${source}
            DEPENDS ${source}
            DEPFILE ${program}.d
            COMMENT "Compiling ${name}.cu"
            VERBATIM)
        add_custom_target(${name} DEPENDS ${program})
        add_dependencies(peers ${name})
    endforeach()
else()
    message(STATUS "Bench: the peers on a GPU are left out (no nvcc)")
endif()

# duckdb, polars and pandas are Python's: scripts, which print no rows where they are missing.
configure_file(bench/peers/engines.py ${PROJECT_BINARY_DIR}/peers/engines.py COPYONLY)
configure_file(bench/peers/peer_tables.py ${PROJECT_BINARY_DIR}/peers/peer_tables COPYONLY)
configure_file(bench/peers/peer_sums.py ${PROJECT_BINARY_DIR}/peers/peer_sums COPYONLY)

include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER OR COHORT_SANITIZE OR COHORT_FUZZ)
    return()
endif()
enable_language(CXX)
if(NOT "cxx_std_20" IN_LIST CMAKE_CXX_COMPILE_FEATURES)
    return()
endif()
find_package(Boost 1.81 QUIET)
find_package(TBB QUIET)
find_package(absl QUIET)

# cohort_peer NAME TARGET PACKAGE: TARGET is what it links; none for the compiler's own library.
function(cohort_peer name target package)
    if(target AND NOT TARGET ${target})
        message(STATUS "Bench: peer_${name} is left out (Debian: ${package})")
        return()
    endif()
    add_executable(peer_${name} bench/peers/peer_${name}.cpp)
    target_compile_features(peer_${name} PRIVATE cxx_std_20)
    target_link_libraries(peer_${name} PRIVATE Threads::Threads ${target})
    set_target_properties(peer_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/peers)
    add_dependencies(peers peer_${name})
    add_dependencies(cpu_peers peer_${name})
endfunction()
cohort_peer(std "" "")
cohort_peer(sets "" "")
cohort_peer(absl absl::flat_hash_map libabsl-dev)
cohort_peer(boost Boost::headers libboost1.81-dev)
cohort_peer(tbb TBB::tbb libtbb-dev)

# libcuckoo is headers alone; liburcu is two libraries, without a package for CMake.
find_path(cuckoo_include libcuckoo/cuckoohash_map.hh)
find_path(urcu_include urcu/rculfhash.h)
find_library(urcu_library urcu-qsbr)
find_library(urcu_tables_library urcu-cds)
mark_as_advanced(cuckoo_include urcu_include urcu_library urcu_tables_library)
if(cuckoo_include)
    add_library(cuckoo_headers INTERFACE)
    target_include_directories(cuckoo_headers SYSTEM INTERFACE ${cuckoo_include})
endif()
if(urcu_include AND urcu_library AND urcu_tables_library)
    add_library(urcu_tables INTERFACE)
    target_include_directories(urcu_tables SYSTEM INTERFACE ${urcu_include})
    target_link_libraries(urcu_tables INTERFACE ${urcu_library} ${urcu_tables_library})
endif()
cohort_peer(cuckoo cuckoo_headers libcuckoo-dev)
cohort_peer(urcu urcu_tables liburcu-dev)

# CRoaring, from its two files (scripts/deps.sh --bench): -DCOHORT_CROARING=DIR, or where that script puts
# them.
if(DEFINED ENV{XDG_CACHE_HOME})
    set(croaring_cache $ENV{XDG_CACHE_HOME}/cohort/croaring)
else()
    set(croaring_cache $ENV{HOME}/.cache/cohort/croaring)
endif()
set(COHORT_CROARING ${croaring_cache} CACHE PATH "the folder of CRoaring's roaring.c and roaring.h")
if(EXISTS ${COHORT_CROARING}/roaring.c)
    add_library(croaring STATIC EXCLUDE_FROM_ALL ${COHORT_CROARING}/roaring.c)
    target_include_directories(croaring SYSTEM PUBLIC ${COHORT_CROARING})
    target_compile_options(croaring PRIVATE -w -O3)
endif()
cohort_peer(croaring croaring "none; scripts/deps.sh --bench")
