<<<<<<<< HEAD:ui/dist/assets/plus-DuoJQpw6.js
import{b as e}from"./button-Df_obMud.js";var t={name:`plus`,size:24,node:[[`path`,{d:`M5 12h14`,key:`1ays0h`}],[`path`,{d:`M12 5v14`,key:`s699le`}]]};t.node;var n=e(t);export{n as t};
========
import{b as e}from"./button-DLRZ-T-d.js";var t={name:`plus`,size:24,node:[[`path`,{d:`M5 12h14`,key:`1ays0h`}],[`path`,{d:`M12 5v14`,key:`s699le`}]]};t.node;var n=e(t);export{n as t};
>>>>>>>> pages:ui/dist/assets/plus-DfkZUiP_.js
