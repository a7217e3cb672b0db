/* kernels/map_page_end.h: the end of an instance that included kernels/map_page.h. */

#undef PAGE_ALL
#undef PAGE_BUCKET
#undef PAGE_BUCKETS
#undef PAGE_WALK
#undef PAGE_WORDS
#undef PAGE_NONE
#undef PAGE_COUNTS
#undef PAGE_LISTED
#undef PAGE_LIST
#undef PAGE_LIST_MOST
#undef CO_EACH_UNIT
#undef CO_EACH_COUNT
