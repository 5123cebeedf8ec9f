/* SPDX-License-Identifier: MIT */
/* The page's script and style: page.js and page.css as the build embeds them (cmake/EmbedText.cmake). */
#ifndef LAB_PAGE_TEXTS_H
#define LAB_PAGE_TEXTS_H

extern const char lab_page_script[], lab_page_style[];

#endif
