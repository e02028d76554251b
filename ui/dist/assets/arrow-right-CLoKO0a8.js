<<<<<<<< HEAD:ui/dist/assets/arrow-right-Bl0i89u2.js
import{b as e}from"./button-Df_obMud.js";var t={name:`arrow-right`,size:24,node:[[`path`,{d:`M5 12h14`,key:`1ays0h`}],[`path`,{d:`m12 5 7 7-7 7`,key:`xquz4c`}]]};t.node;var n=e(t);export{n as t};
========
import{b as e}from"./button-DLRZ-T-d.js";var t={name:`arrow-right`,size:24,node:[[`path`,{d:`M5 12h14`,key:`1ays0h`}],[`path`,{d:`m12 5 7 7-7 7`,key:`xquz4c`}]]};t.node;var n=e(t);export{n as t};
>>>>>>>> pages:ui/dist/assets/arrow-right-CLoKO0a8.js
