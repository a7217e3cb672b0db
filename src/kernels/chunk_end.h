/* chunk_end.h: forgets the words of chunk_width.h and its parameter. */
#undef CHUNK_PASTE_
#undef CHUNK_PASTE
#undef WORD
#undef WIDTH
#undef EACH
#undef SHUFFLE
#undef READ
#undef WRITE
#undef NAME
#undef WIDE
