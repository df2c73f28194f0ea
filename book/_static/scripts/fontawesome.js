/* Nothing, in place of the theme's file of the same name, which weighs more than everything else on a
   page together: it turns icons into drawings, and the icons are there already, as letters of a font. */
