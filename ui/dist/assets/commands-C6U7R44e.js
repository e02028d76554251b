<<<<<<<< HEAD:ui/dist/assets/commands-C6U7R44e.js
import{i as e,n as t}from"./jsx-runtime-DyZJNswf.js";import{l as n}from"./i18n-BkZX-Sz-.js";var r=e(t(),1),i=n(()=>({open:!1,commands:[]})),a=()=>i.setState({open:!0}),o=()=>i.setState({open:!1});function s(e,t){(0,r.useEffect)(()=>(i.setState({commands:e}),()=>i.setState({commands:[]})),t)}export{s as i,a as n,i as r,o as t};
========
import{i as e,n as t}from"./jsx-runtime-DyZJNswf.js";import{f as n}from"./i18n-Doa7X-R0.js";var r=e(t(),1),i=n(()=>({open:!1,commands:[]})),a=()=>i.setState({open:!0}),o=()=>i.setState({open:!1});function s(e,t){(0,r.useEffect)(()=>(i.setState({commands:e}),()=>i.setState({commands:[]})),t)}export{s as i,a as n,i as r,o as t};
>>>>>>>> pages:ui/dist/assets/commands-CThhP7tL.js
