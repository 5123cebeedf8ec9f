/* SPDX-License-Identifier: MIT */
/* The numbers behind a chart as JSON, for the script of the page. */
#ifndef LAB_CHART_DATA_H
#define LAB_CHART_DATA_H

#include "page/chart_frame.h"

/* {"id", "title", "x", "y",           labels
 *  "frame": [left, top, right, bottom], "range": [x_low, x_high, y_low, y_high], "log": true,
 *  "names": […], "every": 2,          of x at 0, 1, 2, …; either may be left out
 *  "trained": 100,                     the x up to which was trained; may be left out
 *  "series": [{"name", "mark", "colour", "x": […], "y": […], "low": […], "high": […]}]}
 * A series without x has the x of the one before it; low and high stand where it has a band or bars. Of a chart with
 * more than 100,000 values every second, third, … point is there, to its last: "every" says which. */
void lab_chart_data(const lab_chart *chart, const lab_frame *frame, FILE *page);

#endif
