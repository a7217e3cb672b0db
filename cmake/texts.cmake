# Headers that the library carries along, for programs that it compiles when it meets them (src/cuda/jit.c).
#
#   cohort_embed_texts(OUT FILE...)
#
# sets OUT to sources that define `const struct cohort_text cohort_texts[]`, an entry for each file, by its
# name.
function(cohort_embed_texts out)
    set(folder ${PROJECT_BINARY_DIR}/cohort_texts)
    set(contents "")
    set(entries "")
    set(declarations "")
    set(paths "")
    foreach(file ${ARGN})
        get_filename_component(name ${file} NAME)
        string(MAKE_C_IDENTIFIER cohort_text_${name} symbol)
        string(APPEND contents "    .globl ${symbol}\n    .hidden ${symbol}\n    .type ${symbol}, STT_OBJECT\n"
            "${symbol}:\n    .incbin \"${PROJECT_SOURCE_DIR}/${file}\"\n    .byte 0\n    .size ${symbol}, . - ${symbol}\n")
        string(APPEND declarations "extern const char ${symbol}[];\n")
        string(APPEND entries "    {\"${name}\", ${symbol}},\n")
        list(APPEND paths ${PROJECT_SOURCE_DIR}/${file})
    endforeach()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/texts.S.in ${folder}/contents.S @ONLY)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/texts.c.in ${folder}/texts.c @ONLY)
    set_property(SOURCE ${folder}/contents.S APPEND PROPERTY OBJECT_DEPENDS "${paths}")
    set(${out} ${folder}/contents.S ${folder}/texts.c PARENT_SCOPE)
endfunction()
