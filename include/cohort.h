/* cohort: bulk parallel hash maps and what they make together, on GPUs and CPUs, from C.
 *
 * This header gathers one short header per structure; each of them is the contract of what it declares. */
#ifndef COHORT_H
#define COHORT_H

#include "cohort/compact.h"
#include "cohort/context.h"
#include "cohort/fn.h"
#include "cohort/group.h"
#include "cohort/histogram.h"
#include "cohort/join.h"
#include "cohort/keys.h"
#include "cohort/kmer.h"
#include "cohort/map.h"
#include "cohort/multimap.h"
#include "cohort/multisplit.h"
#include "cohort/payload.h"
#include "cohort/plain.h"
#include "cohort/runs.h"
#include "cohort/set.h"
#include "cohort/sort.h"
#include "cohort/sums.h"
#include "cohort/table.h"
#include "cohort/type.h"

#endif
