/* SPDX-License-Identifier: MIT */
/* locus: positional encodings for Transformers as group actions. Includes the whole public interface.
 *
 *   locus_encoding_parse → locus_binding_create → locus_plan_create → locus_apply / locus_attention_forward, _backward
 */
#ifndef LOCUS_LOCUS_H
#define LOCUS_LOCUS_H

#include <locus/attention.h>
#include <locus/attention_kind.h>
#include <locus/cache.h>
#include <locus/cpu.h>
#include <locus/encoding.h>
#include <locus/execution.h>
#include <locus/extension.h>
#include <locus/fold.h>
#include <locus/form.h>
#include <locus/group.h>
#include <locus/memory.h>
#include <locus/parallel.h>
#include <locus/path.h>
#include <locus/pattern.h>
#include <locus/plan.h>
#include <locus/positions.h>
#include <locus/random.h>
#include <locus/status.h>
#include <locus/tensor.h>
#include <locus/version.h>

#endif
